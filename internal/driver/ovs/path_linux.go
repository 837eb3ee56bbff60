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

// discards returns the kernel's drop reason of the frames that ovs-vswitchd has copied with
// its packet sockets: the nftables rule of build drops them.
func (p *path) discards() []string {
	if p.process {
		return []string{"NETFILTER_DROP"}
	}
	return nil
}
