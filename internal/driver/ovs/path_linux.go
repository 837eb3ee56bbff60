package ovs

import (
	"tare/internal/driver/labdriver"
	"tare/internal/driver/vswitch"
)

// path is a mode that is set up.
type path struct {
	labdriver.Path
	way
	mtu     int
	acls    int // access rules of the server's logical switch; 0: none
	sides   []*side
	central vswitch.Central // with OVN
}

// discards returns the kernel's drop reasons of the copies of frames that ovs-vswitchd forwards.
func (p *path) discards() []string {
	if p.process {
		return vswitch.CopiesDropped()
	}
	return nil
}
