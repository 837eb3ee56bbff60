package drivertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tare/internal/guest/kernel"
	"tare/internal/testkit/testneed"
)

// Where scripts/setup-kernels puts guest kernels, relative to the cache: one that boots fast, and one
// with drivers of more network adapters.
const (
	guestKernel = "kernels/cloud"
	fullKernel  = "kernels/full"
)

// CacheVariable is the environment variable with the directory in which the scripts/setup-... keep what
// they make, instead of tare in the user's cache.
const CacheVariable = "TARE_CACHE"

// Cache returns that directory.
func Cache(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv(CacheVariable); dir != "" {
		return dir
	}
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatalf("find the cache of the set-up: %v; set HOME, or %s", err, CacheVariable)
	}
	return filepath.Join(base, "tare")
}

// NeedGuest returns the directory of a guest kernel, for tests that boot it; see testneed.
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
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		testneed.Missing(t, testneed.QEMU, err)
	}
	dir = filepath.Join(Cache(t), dir)
	if _, err := kernel.Find(dir); err != nil {
		testneed.Missing(t, testneed.Kernel, err)
	}
	needStatic(t)
	return dir
}

// Root returns the directory of tare's module, also in the module of the benchmarks below it.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if text, missing := os.ReadFile(filepath.Join(dir, "go.mod")); missing == nil && bytes.HasPrefix(text, []byte("module tare\n")) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("the test is not run in tare's module: %v", err)
	return ""
}
