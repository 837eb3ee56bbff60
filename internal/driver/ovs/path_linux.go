package ovs

import (
	"tare/internal/driver/procpath"
)

// path is a mode that stands.
type path struct {
	procpath.Path
	mtu     int
	way     string
	process bool // who switches
	sides   []*side
}

// discards is how the kernel drops the frames of which the switch's process has copies, by
// its packet sockets: by a rule of nftables, as in build.
func (p *path) discards() []string {
	if p.process {
		return []string{"NETFILTER_DROP"}
	}
	return nil
}
