package cni_test

import (
	"os"
	"path/filepath"
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

// needFlannel puts flanneld and etcd into PATH, or skips the test.
func needFlannel(t *testing.T) {
	t.Helper()
	dir := filepath.Join(drivertest.Cached(t, "TARE_KUBERNETES", "kubernetes", drivertest.Pinned(t, "tools/kubernetes/go.mod", "k8s.io/kubernetes")), "bin")
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
