// Package rootless builds modes with the networks of an ordinary user's containers: no
// bridge and no rules, which require privileges, but a process with its own TCP/IP stack
// that translates between the packets of the sandbox and sockets of the host. slirp4netns
// and pasta do this for incoming connections to a published port and for outgoing ones.
package rootless

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// The programs.
const (
	slirp = "slirp4netns"
	pasta = "pasta"
)

// end is which endpoint is behind which program.
type end struct {
	program string
	out     bool // the client, which connects to a raw server; otherwise the server, at a published port
}

// rows are the modes of this package.
func rows() labdriver.Rows[end] {
	row := func(id, title string, e end) labdriver.Row[end] {
		return labdriver.Row[end]{Mode: driver.Mode{ID: id, Title: title, Baseline: "host", MTU: true, Parts: parts(e.program), Detour: "a/eth0.tx_bytes"}, Build: e}
	}
	return labdriver.Rows[end]{
		row("rootless/slirp4netns", "raw client, server in a sandbox behind slirp4netns, at a published port", end{slirp, false}),
		row("rootless/slirp4netns-out", "client in a sandbox behind slirp4netns, raw server", end{slirp, true}),
		row("rootless/pasta", "raw client, server in a sandbox behind pasta, at a published port", end{pasta, false}),
		row("rootless/pasta-out", "client in a sandbox behind pasta, raw server", end{pasta, true}),
	}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }
