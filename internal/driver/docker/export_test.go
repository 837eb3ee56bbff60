//go:build linux

package docker

import (
	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/linuxnet"
)

// EndNamespaces gives tests the namespaces of the two ends of a path's first pair: a
// container's, or that of the host where the end is a process of it.
func EndNamespaces(p *driver.Path) (from, to *linuxnet.NS) {
	on := p.Internal.(*path)
	from, to = on.a.ns, on.a.ns
	for _, b := range on.boxes {
		if b.pair == 1 && b.role == containers.Client {
			from = b.ns
		}
		if b.pair == 1 && b.role == containers.Server {
			to = b.ns
		}
	}
	return from, to
}
