// Package podman builds network modes with real Podmans: Podman creates the networks and
// containers, over its API; this package requests them, finds the resulting devices, rules and
// processes, and declares what those must show.
//
// Each mode has its own lab, with a private Podman on each host that needs one.
package podman

import (
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/setting"
	"tare/internal/study"
)

// The modes. Those of an ordinary user end in the network of its containers.
const (
	host          = "podman/host"
	bridge        = "podman/bridge"
	published     = "podman/published"
	rootlessSlirp = "podman/rootless-slirp4netns"
	rootlessPasta = "podman/rootless-pasta"
)

// optionBackend is the option of the modes with a bridge that selects Podman's network backend.
const optionBackend = "backend"

// setupTime is roughly how long setting up and removing a mode takes: Podman starts a dozen
// programs for each container.
const setupTime = 4 * time.Second

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	both, server := study.Ends{Client: true, Server: true}, study.Ends{Server: true}
	modes := []driver.Mode{
		{ID: host, Title: "both endpoints in Podman containers on the host network", Limits: both},
		{ID: published, Title: "raw client, server in a Podman container with a published port", Limits: server, Options: true},
		{ID: bridge, Title: "both endpoints in Podman containers on the default bridge, masqueraded and published", Limits: both, Options: true},
		{ID: rootlessSlirp, Title: "raw client, server in a container of an ordinary user's Podman, port published by rootlessport"},
		{ID: rootlessPasta, Title: "raw client, server in a container of an ordinary user's Podman, port published by pasta"},
	}
	for i := range modes {
		modes[i].Baseline, modes[i].SetupTime, modes[i].Settings = "host", setupTime, setting.Names()
	}
	return modes
}
