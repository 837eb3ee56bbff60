//go:build linux

package netns

import (
	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// Namespaces returns the namespaces of the first pair's endpoints.
func Namespaces(p *driver.Path) (client, server *linuxnet.NS) {
	return p.Internal.(*path).at[0][0], p.Internal.(*path).at[0][1]
}

// DetachPrograms detaches the eBPF programs of a host, a (0) or b (1).
func DetachPrograms(p *driver.Path, host int) error { return p.Internal.(*path).routers[host].Detach() }
