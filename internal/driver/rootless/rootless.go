// Package rootless builds modes with what an ordinary user's containers get: no bridge
// and no rule, for those need rights, but a process that ends the connections of the
// sandbox in sockets of its own, packet by packet on one side and call by call on the
// other. slirp4netns and pasta do so, each for what comes in at a published port and for
// what goes out.
package rootless

import (
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// The modes. Those with outwards behind their names have the client in the sandbox.
const (
	slirp    = "rootless/slirp4netns"
	pasta    = "rootless/pasta"
	outwards = "-out"
)

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	return []driver.Mode{
		{ID: slirp, Title: "raw client, server in a sandbox behind slirp4netns, at a published port", Baseline: "host", MTU: true},
		{ID: slirp + outwards, Title: "client in a sandbox behind slirp4netns, raw server", Baseline: "host", MTU: true},
		{ID: pasta, Title: "raw client, server in a sandbox behind pasta, at a published port", Baseline: "host", MTU: true},
		{ID: pasta + outwards, Title: "client in a sandbox behind pasta, raw server", Baseline: "host", MTU: true},
	}
}

// split tells which program a mode is about, and whether the client is in the sandbox.
func split(mode string) (which string, out bool) { return strings.CutSuffix(mode, outwards) }
