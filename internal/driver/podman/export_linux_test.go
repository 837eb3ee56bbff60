package podman

import (
	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// ServerNamespace returns the namespace of the first pair's server, and its device.
func ServerNamespace(p *driver.Path) (*linuxnet.NS, string) {
	b := p.Internal.(*path).boxes[0]
	return b.ns, b.device
}
