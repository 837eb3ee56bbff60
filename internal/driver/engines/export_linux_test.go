package engines

import (
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// EndNamespaces returns the namespaces of the first pair's endpoints: a container's, or the
// host's for a host process.
func EndNamespaces(p *driver.Path) (from, to *linuxnet.NS) {
	on := p.Internal.(*path)
	from, to = on.a.ns, on.a.ns
	for _, b := range on.boxes.all {
		if b.pair == 1 && b.role == containers.Client {
			from = b.ns
		}
		if b.pair == 1 && b.role == containers.Server {
			to = b.ns
		}
	}
	return from, to
}

// CheckParts rejects variants that cannot exist.
func CheckParts(o driver.Order) error {
	all := dockerModes()
	return checkParts(all[slices.IndexFunc(all, func(m mode) bool { return study.Fits(m.id, o.Mode) })], o)
}

// UserNetwork returns the network namespace of a rootless engine.
func UserNetwork(p *driver.Path) *linuxnet.NS { return p.Internal.(*path).inner.ns }

// MeshNamespace returns the namespace with the load balancer of the routing mesh on host b.
func MeshNamespace(p *driver.Path) (*linuxnet.NS, error) {
	on := p.Internal.(*path)
	return linuxnet.OpenNS("b/mesh", filepath.Join(on.b.engine.Exec(), "netns", meshSandbox))
}

// ServerNamespace returns the namespace of the first server of Podman, and its device.
func ServerNamespace(p *driver.Path) (*linuxnet.NS, string) {
	b := p.Internal.(*path).boxes.all[0]
	return b.ns, b.device
}

// Running returns the process ids of dockerd on the server's host and of its docker-proxies.
func Running(t testing.TB, p *driver.Path) (dockerd int, ofPort []int) {
	t.Helper()
	on := p.Internal.(*path)
	dockerd = must.Get(on.b.engine.DaemonPID())(t)
	return dockerd, must.Get(proxies{on.b, portOf(1)}.find())(t)
}
