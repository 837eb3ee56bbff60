// Package docker builds network modes with real Docker Engines: the engine creates the
// networks and containers; this package requests them, finds the resulting devices and
// rules, and declares what those must show.
//
// Each mode has its own lab with a private engine on each host that needs one, so that the
// rules, bridges and networks of one mode do not affect another.
package docker

import (
	"context"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// setupTime is roughly how long setting up and removing a mode takes: an engine on each host
// that needs one, containers, agents.
const setupTime = 2500 * time.Millisecond

// Driver builds the modes of this package on the hosts of labs.
type Driver struct {
	labdriver.LinuxOnly
	// ready is called after the engines of a path have started and before they are used;
	// tests register plugins there. May be nil.
	ready func(ctx context.Context, p *path) error
	// join takes the place of joinWait unless it is 0.
	join time.Duration
}

// Modes lists the modes of this package.
func (Driver) Modes() (all []driver.Mode) {
	for _, m := range modes() {
		all = append(all, m.offered())
	}
	return all
}
