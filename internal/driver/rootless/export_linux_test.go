package rootless

import (
	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// Spaces are the namespaces of the ends of a path's first pair.
func Spaces(p driver.Path) (client, server *linuxnet.NS) {
	at := p.(*path).at[0]
	return at[0], at[1]
}
