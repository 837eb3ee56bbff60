package drivertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tare/internal/guest/kernel"
)

// Where scripts/setup-tests puts guest kernels, relative to the module's root: one that
// boots fast, and one with drivers of more network adapters.
const (
	guestKernel = ".cache/kernel"
	fullKernel  = ".cache/kernel-full"
)

// NeedGuest returns the directory of a guest kernel. It skips the test if there is none or
// no emulator, and says what is missing.
func NeedGuest(t testing.TB) (dir string) {
	t.Helper()
	return needKernel(t, guestKernel)
}

// NeedFullGuest is NeedGuest for the kernel with drivers of e1000 and e1000e.
func NeedFullGuest(t testing.TB) (dir string) {
	t.Helper()
	return needKernel(t, fullKernel)
}

func needKernel(t testing.TB, dir string) string {
	t.Helper()
	NeedLab(t)
	if testing.Short() {
		t.Skip("boots a virtual machine; run without -short")
	}
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skipf("guests need QEMU (scripts/setup-tests installs it): %v", err)
	}
	dir = filepath.Join(Root(t), dir)
	if _, err := kernel.Find(dir); err != nil {
		t.Skipf("guests need a kernel (scripts/setup-tests fetches it): %v", err)
	}
	needStatic(t)
	return dir
}

// Root returns the directory of the module under test.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("the test is not run in its module: %v", err)
	return ""
}
