package ovs

import (
	"context"

	"tare/internal/driver"
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

var _ driver.Discarder = (*path)(nil)

// Discards is how the kernel drops the frames of which the switch's process has copies, by
// its packet sockets: by a rule of nftables, as in build.
func (p *path) Discards() []string {
	if p.process {
		return []string{"NETFILTER_DROP"}
	}
	return nil
}
