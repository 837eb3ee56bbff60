// Package incus builds the networks of Incus's containers: on the hosts of a lab it runs a private Incus each, whose containers only wait, and
// declares what its bridge, its veths, its rules of nftables, its forwarding process and the switch of OVN must show. Endpoints are processes in the network
// namespaces of the containers.
package incus

import (
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// setupTime is roughly how long setting up and removing a mode takes.
const setupTime = 6 * time.Second

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// recipe is what a mode is built of.
type recipe struct {
	client  bool // the client is in a container, too
	process bool // a process of Incus forwards the published port, rules do otherwise
	logical bool // the server is on a network of OVN
}

// rows are the modes of this package.
func rows() labdriver.Rows[recipe] {
	return labdriver.Rows[recipe]{
		{Mode: driver.Mode{ID: "incus/published", Title: "raw client, server in an Incus container with a published port (proxy device, nat)", Baseline: "host",
			Detour: "b/server/eth0.rx_bytes", SetupTime: setupTime}, Build: recipe{}},
		{Mode: driver.Mode{ID: "incus/bridge", Title: "both endpoints in Incus containers on its bridge, masqueraded and published", Baseline: "host",
			Detour: "a/client/eth0.tx_bytes", SetupTime: setupTime}, Build: recipe{client: true}},
		{Mode: driver.Mode{ID: "incus/proxy", Title: "raw client, server in an Incus container behind Incus's forwarding process (proxy device)", Baseline: "host",
			SetupTime: setupTime, Cannot: driver.TCPOnly("Incus's process forwards connections")}, Build: recipe{process: true}},
		{Mode: driver.Mode{ID: "incus/ovn", Title: "raw client, server in an Incus container on a network of OVN behind a network forward, switched in userspace", Baseline: "host",
			Detour: "b/server/eth0.rx_bytes", SetupTime: setupTime}, Build: recipe{logical: true}},
	}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }
