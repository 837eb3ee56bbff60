//go:build linux

package netns

import (
	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// Namespaces gives tests the namespaces of the two ends of a path's first pair.
func Namespaces(p *driver.Path) (client, server *linuxnet.NS) {
	return p.Internal.(*path).at[0][0], p.Internal.(*path).at[0][1]
}
