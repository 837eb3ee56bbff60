// Package netavark builds the networks that Podman's containers have, without Podman: on the hosts of a lab it
// runs netavark, Podman's network program, through the interface that Podman uses, and declares what its bridge,
// its veths and its rules of nftables must show.
package netavark

import (
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// setupTime is roughly how long setting up and removing a mode takes: netavark runs once for each endpoint.
const setupTime = 300 * time.Millisecond

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// sandboxed is which endpoints are in sandboxes; the others are processes of their host.
type sandboxed struct{ client, server bool }

// rows are the modes of this package.
func rows() labdriver.Rows[sandboxed] {
	return labdriver.Rows[sandboxed]{
		{Mode: driver.Mode{ID: "netavark/published", Title: "raw client, server in a sandbox that netavark connects, with a published port", Baseline: "host",
			Detour: "b/server/eth0.rx_bytes", SetupTime: setupTime}, Build: sandboxed{server: true}},
		{Mode: driver.Mode{ID: "netavark/bridge", Title: "both endpoints in sandboxes on netavark's bridge, masqueraded and published", Baseline: "host",
			Detour: "a/client/eth0.tx_bytes", SetupTime: setupTime}, Build: sandboxed{client: true, server: true}},
	}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }
