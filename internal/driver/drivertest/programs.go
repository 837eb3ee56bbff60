package drivertest

import (
	"os"
	"path/filepath"
	"testing"

	"tare/internal/driver/daemon"
)

// proxiesVariable names the directory of scripts/setup-proxies, if it is not in the user's cache.
const proxiesVariable = "TARE_PROXIES"

// UseProxies puts the programs that scripts/setup-proxies has made first in PATH. Call it from
// TestMain.
func UseProxies() {
	dir := os.Getenv(proxiesVariable)
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return // NeedProgram says what is missing
		}
		dir = filepath.Join(cache, "tare", "proxies")
	}
	_ = os.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// NeedProgram skips the test unless a program of scripts/setup-proxies can be found.
func NeedProgram(t testing.TB, name string) {
	t.Helper()
	NeedLab(t)
	if _, err := daemon.Find(name); err != nil {
		t.Skipf("no %s (scripts/setup-proxies makes it): %v", name, err)
	}
}
