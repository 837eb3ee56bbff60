// Package docker builds network modes with real Docker Engines: the engine makes
// the networks and the containers, this package orders them, finds the devices and
// rules that came out of it, and says what those must show.
//
// Each mode has a lab of its own with a private engine on each host that needs one,
// so that the rules, bridges and networks of one mode never burden another.
package docker

import (
	"context"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/labdriver"
)

// takes is how long a mode takes to be made and taken down, about: an engine on each host
// that needs one, containers, agents.
const takes = 2500 * time.Millisecond

// Driver builds the modes of this package on the hosts of labs.
type Driver struct {
	labdriver.LinuxOnly
	// ready is called when the engines of a path have started and nothing has been
	// asked of them yet; tests register plugins there. May be nil.
	ready func(ctx context.Context, p *path) error
}

// Modes lists the modes of this package. Each is built by the recipe of its name.
func (Driver) Modes() []driver.Mode {
	return containers.Traits([]driver.Mode{
		{ID: "docker/host", Title: "both ends in containers on their host's own network", Baseline: containers.Host},
		{ID: "docker/published", Title: "raw client, server in a container with a published port", Baseline: containers.Host},
		{ID: "docker/bridge", Title: "both ends in containers on the default bridge, masqueraded and published", Baseline: containers.Host},
		{ID: "docker/colocated", Title: "two containers on one bridge", Baseline: containers.HostLocal},
		{ID: "docker/to-host", Title: "container to a process of its own host", Baseline: containers.HostLocal},
		{ID: "docker/userland-proxy", Title: "process to a container of its own host, through docker-proxy", Baseline: containers.HostLocal},
		{ID: "docker/macvlan", Title: "containers on macvlan networks of the underlay", Baseline: containers.Host},
		{ID: "docker/ipvlan", Title: "containers on ipvlan networks of the underlay", Baseline: containers.Host},
		{ID: "docker/overlay", Title: "containers on an overlay of a Swarm of two engines", Baseline: containers.Host, MTU: true},
		{ID: "docker/overlay-encrypted", Title: "containers on an encrypted overlay of a Swarm", Baseline: containers.Host, MTU: true},
		{ID: "docker/network:NAME", Title: "containers on a network that exists", Baseline: containers.Host},
		{ID: "docker/driver:NAME", Title: "containers on a network made with a driver and its options", Baseline: containers.Host},
	}, takes)
}
