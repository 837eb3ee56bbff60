//go:build linux

package netns

import (
	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// Namespaces gives tests the namespaces of a path's two ends.
func Namespaces(p driver.Path) (client, server *linuxnet.NS) {
	return p.(*path).at[0], p.(*path).at[1]
}
