package ovs

import (
	"tare/internal/driver/labdriver"
)

// path is a mode that is set up.
type path struct {
	labdriver.Path
	way
	mtu   int
	sides []*side
}

// discards returns the kernel's drop reason of the frames that ovs-vswitchd has copied with
// its packet sockets: the nftables rule of build drops them.
func (p *path) discards() []string {
	if p.process {
		return []string{"NETFILTER_DROP"}
	}
	return nil
}
