package ovs

import (
	"context"

	"tare/internal/driver/manned"
)

// path is a mode that stands.
type path struct {
	manned.Path
	mtu     int
	way     string
	process bool // who switches
	sides   []*side
}

// Forget has nothing to let go of: frames are switched, and no connection is tracked.
// What the switch has learnt of addresses and flows it keeps, as it would in use.
func (p *path) Forget(context.Context) error { return nil }
