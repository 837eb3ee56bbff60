package cni_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/drivertest"
)

// A killed run has its plugins' DEL called, and its processes end. One that was stopped is in
// gc's list; removing it ends it.
func TestKilledRun(t *testing.T) {
	drivertest.NeedRoot(t, "only root sees all that a dead run left")
	dir := drivertest.NeedCNI(t, "current")
	called := filepath.Join(t.TempDir(), "called")
	plugins := fake(t, map[string]string{"noting": noting(called)})
	file := write(t, "doomed.conflist", `{"cniVersion": "1.0.0", "name": "doomed", "plugins": [
{"type": "ptp", "ipam": {"type": "host-local", "subnet": "{{.PodCIDR}}", "routes": [{"dst": "0.0.0.0/0"}]}}, {"type": "noting"}]}`)
	options := map[string]string{"plugins": dir + ":" + plugins}
	drivertest.KilledRun(t, "cni/network:"+file, options, func() {
		if text, _ := os.ReadFile(called); strings.Count(string(text), "DEL a-client") != 1 || strings.Count(string(text), "ADD") != 2 {
			t.Errorf("the plugin was called for %q, want an ADD for each endpoint and the DEL of that of host a", text)
		}
	})
}
