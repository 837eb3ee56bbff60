package hosts

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/engine"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/enginetest"
	"tare/internal/testkit/must"
)

func TestMain(m *testing.M) { drivertest.MainInNamespaces(m) }

// The networks of an engine are found, each with a command that measures it, and what cannot be read is told.
func TestNetworksOfEngine(t *testing.T) {
	b := enginetest.New(t)
	must.Get(b.CreateNetwork(t.Context(), engine.NetworkSpec{Run: b.ID, Name: "shop"}))(t)
	t.Cleanup(func() { must.Do(t, b.RemoveNetwork(context.Background(), "shop")) })
	t.Setenv("DOCKER_HOST", "unix://"+b.Socket())
	dir := t.TempDir()
	t.Setenv("NETCONFPATH", dir)
	t.Setenv("KUBECONFIG", filepath.Join(dir, "kubeconfig"))
	must.Do(t, os.WriteFile(filepath.Join(dir, "10-mine.conflist"), []byte(`{"name": "mine", "plugins": [{"type": "bridge"}, {"type": "portmap"}]}`), 0o600),
		os.WriteFile(filepath.Join(dir, "kubeconfig"), []byte("contexts: [{name: prod, context: {cluster: c, user: u}}]\ncurrent-context: prod\n"), 0o600))
	try := map[string]string{}
	for _, n := range Networks(t.Context()) {
		try[n.Name] = n.Try
	}
	must.Equal(t, map[string]string{
		"published ports": "tare run --engine unix://" + b.Socket() + " --modes docker/published,docker/userland-proxy",
		"bridge":          "tare run --engine unix://" + b.Socket() + " --modes docker/colocated,docker/to-host",
		"host":            "tare run --engine unix://" + b.Socket() + " --modes docker/host",
		"shop":            "tare run --engine unix://" + b.Socket() + " --modes docker/network:shop",
		"mine":            "sudo tare run --modes host,cni/network:" + filepath.Join(dir, "10-mine.conflist"),
		"prod":            "tare run --kube",
	}, try)
	must.Equal(t, "prod", Look(t.Context()).Cluster)
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "10-mine.conflist"))
	must.Contain(t, Networks(t.Context())[0].Note, "not a socket")
}
