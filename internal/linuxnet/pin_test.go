//go:build linux

package linuxnet

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/must"
	"tare/internal/testneed"
)

// The first `ip netns add` of a machine, while a namespace has a name, does not keep the name from
// being removed. The test runs in a mount namespace without names.
func TestPinBeforeIPNetns(t *testing.T) {
	const inside = "TARE_TEST_PIN"
	testneed.NotShort(t)
	if !RealRoot() {
		testneed.Missing(t, testneed.Root, "to name namespaces")
	}
	if os.Getenv(inside) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestPinBeforeIPNetns$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	must.Do(t, unix.Mount("tmpfs", "/run", "tmpfs", 0, ""))
	ns := must.Get(NewNS("tare-pin-test", true))(t)
	if out, err := exec.Command("ip", "netns", "add", "others").CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %v\n%s", err, out)
	}
	must.Do(t, ns.Close())
	left, err := filepath.Glob(filepath.Join(PinDir, "*"))
	if want := filepath.Join(PinDir, "others"); err != nil || len(left) != 1 || left[0] != want {
		t.Errorf("names after Close: %v, %v; want only %s", left, err, want)
	}
}
