package guest_test

import (
	"testing"

	"tare/internal/driver/drivertest"
	"tare/internal/guest"
	"tare/internal/guest/kernel"
	"tare/internal/lab"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// spec is a guest that needs no adapter.
func spec(t *testing.T) guest.Spec {
	t.Helper()
	k, err := kernel.Find(drivertest.NeedGuest(t))
	if err != nil {
		t.Fatal(err)
	}
	l := drivertest.Lab(t, nil)
	return guest.Spec{Run: l.Spec.Claim.ID, Label: "test", Place: "a/vm", Host: l.A.NS, Kernel: k, Accel: guest.TCG}
}

func boot(t *testing.T, s guest.Spec) *guest.Machine {
	t.Helper()
	m, err := guest.Boot(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestBoot(t *testing.T) {
	s := spec(t)
	m := boot(t, s)
	t.Logf("hello after %s: %+v", m.Took, m.Hello)
	if m.Hello.Kernel != s.Kernel.Version {
		t.Errorf("the guest runs %s, not %s", m.Hello.Kernel, s.Kernel.Version)
	}
	if err := m.Configure(t.Context(), guest.Net{Settings: (&lab.Lab{IPv6: true}).Settings()}); err != nil {
		t.Error(err)
	}
}
