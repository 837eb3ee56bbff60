// Package rootless builds modes with the networks of an ordinary user's containers: no
// bridge and no rules, which require privileges, but a process with its own TCP/IP stack
// that translates between the packets of the sandbox and sockets of the host. slirp4netns
// and pasta do this for incoming connections to a published port and for outgoing ones.
package rootless

import (
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// The modes. Those with outSuffix have the client in the sandbox.
const (
	slirp     = "rootless/slirp4netns"
	pasta     = "rootless/pasta"
	outSuffix = "-out"
)

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	modes := []driver.Mode{
		{ID: slirp, Title: "raw client, server in a sandbox behind slirp4netns, at a published port", Baseline: "host", MTU: true},
		{ID: slirp + outSuffix, Title: "client in a sandbox behind slirp4netns, raw server", Baseline: "host", MTU: true},
		{ID: pasta, Title: "raw client, server in a sandbox behind pasta, at a published port", Baseline: "host", MTU: true},
		{ID: pasta + outSuffix, Title: "client in a sandbox behind pasta, raw server", Baseline: "host", MTU: true},
	}
	for i, m := range modes {
		which, _ := splitMode(m.ID)
		modes[i].Parts = parts(strings.TrimPrefix(which, "rootless/"))
	}
	return modes
}

// splitMode returns the program of a mode, and whether the client is in the sandbox.
func splitMode(mode string) (which string, out bool) { return strings.CutSuffix(mode, outSuffix) }
