//go:build linux

package vm_test

import (
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/vm"
	"tare/internal/guest"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// emulated is the driver with the kernel of the tests, on the accelerator that every
// machine has.
func emulated(t *testing.T) vm.Driver {
	t.Helper()
	d := vm.New(drivertest.NeedGuest(t))
	d.Accel = guest.TCG
	return d
}

// some is a driver of which only some modes are looked at: a boot of each would take
// minutes.
type some struct {
	driver.Driver
	ids []string
}

func (s some) Modes() []driver.Mode {
	var out []driver.Mode
	for _, m := range s.Driver.Modes() {
		for _, id := range s.ids {
			if m.ID == id {
				out = append(out, m)
			}
		}
	}
	return out
}

func TestConformance(t *testing.T) {
	d := emulated(t)
	for _, id := range []string{"vm/virtio", "vm/virtio-user", "vm/virtio-passt", "vm/virtio-container"} {
		began := time.Now()
		drivertest.Conformance(t, some{d, []string{id}})
		t.Logf("%s: %s", id, time.Since(began))
	}
}

func TestTitles(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range vm.New("").Modes() {
		if seen[m.Title] || !strings.HasPrefix(m.ID, "vm/") || m.Baseline != "host-local" {
			t.Errorf("%+v", m)
		}
		seen[m.Title] = true
	}
}
