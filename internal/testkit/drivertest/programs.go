package drivertest

import (
	"os"
	"path/filepath"
	"testing"

	"tare/internal/driver/daemon"
	"tare/internal/testkit/testneed"
)

// UseProxies puts the programs that scripts/setup-proxies has made first in PATH. Call it from
// TestMain.
func UseProxies() { usePrograms("TARE_PROXIES", "proxies") }

// UseNebula does so with scripts/setup-nebula.
func UseNebula() { usePrograms("TARE_NEBULA", "nebula") }

// usePrograms puts the programs of a directory first in PATH: that which variable names, or the
// one with the given name in the user's cache.
func usePrograms(variable, name string) {
	dir := os.Getenv(variable)
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return // NeedProgram says what is missing
		}
		dir = filepath.Join(cache, "tare", name)
	}
	_ = os.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// NeedProgram is for tests of a mode with a program, which the need is named after; see testneed.
func NeedProgram(t testing.TB, need testneed.Need, name string) {
	t.Helper()
	NeedLab(t)
	if _, err := daemon.Find(name); err != nil {
		testneed.Missing(t, need, err)
	}
}
