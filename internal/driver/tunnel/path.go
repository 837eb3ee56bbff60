//go:build linux

package tunnel

import (
	"net/netip"

	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// The names of devices in a lab, as an engine would choose them.
const (
	eth = "eth0"
	br  = "br0"
	lo  = "lo"
)

// table is the nftables table of the packet counters on the underlay devices.
const table = "tare"

// Path is a tunnel mode, with its specification.
type Path struct {
	labdriver.Path
	// Near is the client's host, Far the server's.
	Near, Far *Side
	MTU       int // inside the tunnel
	// Diagnose adds the reason to the error that nothing passes the tunnel. It is optional.
	Diagnose func(error) error

	handlers []handler
}

// Side is one host with its sandboxes.
type Side struct {
	pathspec.Place
	Host    *lab.Host
	NS      *linuxnet.NS
	Subnets []netip.Prefix // of its sandboxes
	Gateway []netip.Addr   // the host's addresses in them
	net     lab.Net
}

// Sides returns both sides, the client's first.
func (p *Path) Sides() []*Side { return []*Side{p.Near, p.Far} }

// Other returns the side at the other end of the tunnel.
func (p *Path) Other(s *Side) *Side {
	if s == p.Near {
		return p.Far
	}
	return p.Near
}

// handler is what processes the tunnel's packets on a side, for the topology.
type handler struct {
	side           *Side
	kind, what, of string
}

// AddHandler adds what processes the tunnel's packets on a side: a process or a part of the
// kernel. of is the object of its counters, as in Transfer.
func (p *Path) AddHandler(s *Side, kind, what, of string) {
	p.handlers = append(p.handlers, handler{s, kind, what, of})
}
