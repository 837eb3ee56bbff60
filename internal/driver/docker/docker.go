// Package docker builds network modes with real Docker Engines: the engine makes
// the networks and the containers, this package orders them, finds the devices and
// rules that came out of it, and says what those must show.
//
// Each mode has a lab of its own with a private engine on each host that needs one,
// so that the rules, bridges and networks of one mode never burden another.
package docker

import (
	"context"

	"tare/internal/driver"
)

// The baselines, by the ids that the embedded driver has for them.
const (
	host      = "host"
	hostLocal = "host-local"
)

// Driver builds the modes of this package on the hosts of labs.
type Driver struct {
	// ready is called when the engines of a path have started and nothing has been
	// asked of them yet; tests register plugins there. May be nil.
	ready func(ctx context.Context, p *path) error
}

// Modes lists the modes of this package. Each is built by the recipe of its name.
func (Driver) Modes() []driver.Mode {
	return told([]driver.Mode{
		{ID: "docker/host", Title: "both ends in containers on their host's own network", Baseline: host},
		{ID: "docker/published", Title: "raw client, server in a container with a published port", Baseline: host},
		{ID: "docker/bridge", Title: "both ends in containers on the default bridge, masqueraded and published", Baseline: host},
		{ID: "docker/colocated", Title: "two containers on one bridge", Baseline: hostLocal},
		{ID: "docker/to-host", Title: "container to a process of its own host", Baseline: hostLocal},
		{ID: "docker/userland-proxy", Title: "process to a container of its own host, through docker-proxy", Baseline: hostLocal},
		{ID: "docker/macvlan", Title: "containers on macvlan networks of the underlay", Baseline: host},
		{ID: "docker/ipvlan", Title: "containers on ipvlan networks of the underlay", Baseline: host},
		{ID: "docker/overlay", Title: "containers on an overlay of a Swarm of two engines", Baseline: host, MTU: true},
		{ID: "docker/overlay-encrypted", Title: "containers on an encrypted overlay of a Swarm", Baseline: host, MTU: true},
		{ID: "docker/network:NAME", Title: "containers on a network that exists", Baseline: host},
		{ID: "docker/driver:NAME", Title: "containers on a network made with a driver and its options", Baseline: host},
	})
}
