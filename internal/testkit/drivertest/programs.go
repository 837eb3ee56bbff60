package drivertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver/daemon"
	"tare/internal/testkit/testneed"
)

// UsePrograms puts the programs that scripts/setup-NAME has made first in PATH: those in the directory that
// the variable TARE_NAME names, or in NAME of the user's cache. Call it from TestMain.
func UsePrograms(name string) {
	dir := os.Getenv("TARE_" + strings.ToUpper(name))
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
