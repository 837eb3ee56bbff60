//go:build linux

package docker

import (
	"tare/internal/driver"
	"tare/internal/engine"
	"tare/internal/linuxnet"
)

// EndNamespaces gives tests the namespaces of the two ends of a path's first pair: a
// container's, or that of the host where the end is a process of it.
func EndNamespaces(p driver.Path) (from, to *linuxnet.NS) {
	on := p.(*path)
	from, to = on.a.ns, on.a.ns
	for _, b := range on.boxes {
		if b.pair == 1 && b.role == client {
			from = b.ns
		}
		if b.pair == 1 && b.role == server {
			to = b.ns
		}
	}
	return from, to
}

// Engines gives tests the engines of a path; one that it does not need is nil.
func Engines(p driver.Path) (a, b *engine.Private) {
	on := p.(*path)
	return on.a.engine, on.b.engine
}

// Container gives tests the container of one end of the first pair.
func Container(p driver.Path, role string) *engine.Container {
	for _, b := range p.(*path).boxes {
		if b.role == role && b.pair == 1 {
			return b.container
		}
	}
	return nil
}
