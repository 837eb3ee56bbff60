package drivertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver/daemon"
	"tare/internal/testkit/must"
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

// Pinned returns the version of a module that a go.mod of the repository requires.
func Pinned(t testing.TB, file, module string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(Root(t), file)))(t)
	_, after, found := strings.Cut(string(text), module+" ")
	if !found {
		t.Fatalf("%s does not require %s", file, module)
	}
	return strings.Fields(after)[0]
}

// Cached returns the directory that a variable names, or that a script has made in the cache.
func Cached(t testing.TB, variable, name, version string) string {
	t.Helper()
	if dir := os.Getenv(variable); dir != "" {
		return dir
	}
	cache := must.Get(os.UserCacheDir())(t)
	return filepath.Join(cache, "tare", name, version)
}

// NeedCNI returns a directory of plugins that scripts/setup-cni has made, or skips the
// test: current, built from modules, or packaged by the distribution.
func NeedCNI(t testing.TB, kind string) string {
	t.Helper()
	NeedLab(t)
	dir := filepath.Join(Cached(t, "TARE_CNI", "cni", Pinned(t, "tools/cni/go.mod", "github.com/containernetworking/plugins")), kind)
	if _, err := os.Stat(filepath.Join(dir, "bridge")); err != nil {
		testneed.Missing(t, testneed.CNI, err)
	}
	return dir
}
