package cni_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/cni"
	"tare/internal/driver/labdriver"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

func TestMain(m *testing.M) { drivertest.MainOf(m, trusting()) }

// trusting is a driver that may use the files and the plugins of the tests.
func trusting() cni.Driver { return cni.Driver{Trusted: []string{"/"}} }

// pinned returns the version of a module that a go.mod of the repository requires.
func pinned(t testing.TB, file, module string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(drivertest.Root(t), file)))(t)
	_, after, found := strings.Cut(string(text), module+" ")
	if !found {
		t.Fatalf("%s does not require %s", file, module)
	}
	return strings.Fields(after)[0]
}

// cached returns a directory that a script has made in the cache.
func cached(t testing.TB, variable, name, version string) string {
	t.Helper()
	if dir := os.Getenv(variable); dir != "" {
		return dir
	}
	cache := must.Get(os.UserCacheDir())(t)
	return filepath.Join(cache, "tare", name, version)
}

// needPlugins returns a directory of plugins that scripts/setup-cni has made, or skips the
// test: current, built from modules, or packaged by the distribution.
func needPlugins(t testing.TB, kind string) string {
	t.Helper()
	drivertest.NeedLab(t)
	dir := filepath.Join(cached(t, "TARE_CNI", "cni", pinned(t, "tools/cni/go.mod", "github.com/containernetworking/plugins")), kind)
	if _, err := os.Stat(filepath.Join(dir, "bridge")); err != nil {
		testneed.Missing(t, testneed.CNI, err)
	}
	return dir
}

// needFlannel puts flanneld and etcd into PATH, or skips the test.
func needFlannel(t *testing.T) {
	t.Helper()
	dir := filepath.Join(cached(t, "TARE_KUBERNETES", "kubernetes", pinned(t, "tools/kubernetes/go.mod", "k8s.io/kubernetes")), "bin")
	for _, name := range []string{"etcd", "flanneld"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			testneed.Missing(t, testneed.Kubernetes, err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// spec is a mode on a lab of a run that ends with the test.
func spec(t testing.TB, mode string, pairs int, options map[string]string) labdriver.Order {
	t.Helper()
	return drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode, Pairs: pairs, Options: options})
}

func build(t testing.TB, mode string, options map[string]string) *drivertest.Setup {
	t.Helper()
	return drivertest.Build(t, trusting(), spec(t, mode, 1, options))
}

// write writes a file of a test and returns its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}
