// Package engines builds network modes with real container engines on the hosts of labs: Docker Engines
// and Podmans. The engine creates the networks and containers, over its API; this package requests them,
// finds the resulting devices, rules and processes, and declares what those must show.
//
// Each mode has its own lab with a private engine on each host that needs one, so that the
// rules, bridges and networks of one mode do not affect another.
package engines

import (
	"context"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// Docker builds the modes of Docker Engines on the hosts of labs.
type Docker struct {
	labdriver.LinuxOnly
	// ready is called after the engines of a path have started and before they are used;
	// tests register plugins there. May be nil.
	ready func(ctx context.Context, p *path) error
	// join takes the place of joinWait unless it is 0.
	join time.Duration
}

// Modes lists the modes of Docker Engines.
func (Docker) Modes() []driver.Mode { return offered(dockerModes()) }

// Podman builds the modes of Podmans on the hosts of labs.
type Podman struct{ labdriver.LinuxOnly }

// Modes lists the modes of Podmans.
func (Podman) Modes() []driver.Mode { return offered(podmanModes()) }
