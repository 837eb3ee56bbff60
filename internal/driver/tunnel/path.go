//go:build linux

package tunnel

import (
	"context"
	"io"
	"net/netip"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/procpath"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// The names of devices inside a lab, as an engine would choose them.
const (
	eth = "eth0"
	br  = "br0"
	lo  = "lo"
)

// table is that of the packet counters at the underlay's devices.
const table = "tare"

// Path is a mode of a tunnel that stands, with the notes taken while it was built.
type Path struct {
	procpath.Path
	// Near is the client's host, Far the server's.
	Near, Far *Side
	MTU       int // inside the tunnel
	// Diagnose may say more of why nothing comes through the tunnel. It is optional.
	Diagnose func(error) error

	talks []io.Closer // with processes
	works []work
}

// Side is one host with what is behind it.
type Side struct {
	pathspec.Place
	Host    *lab.Host
	NS      *linuxnet.NS
	Subnets []netip.Prefix // of its sandboxes
	Gateway []netip.Addr   // its own addresses among them
	net     lab.Net
}

// Sides are both, the client's first.
func (p *Path) Sides() []*Side { return []*Side{p.Near, p.Far} }

// Other is the side across the tunnel.
func (p *Path) Other(s *Side) *Side {
	if s == p.Near {
		return p.Far
	}
	return p.Near
}

// work is what handles the tunnel's packets on a side, for the drawing.
type work struct {
	side           *Side
	kind, what, of string
}

// AddHandler notes what handles the tunnel's packets on a side: a process, or a part of the
// kernel. of is what counts them, as for Transfer.
func (p *Path) AddHandler(s *Side, kind, what, of string) {
	p.works = append(p.works, work{s, kind, what, of})
}

// AddConnection notes a connection to a process. It is closed with the path.
func (p *Path) AddConnection(c io.Closer) { p.talks = append(p.talks, c) }

// DriverPath is the path as a driver gives it.
func (p *Path) DriverPath() *driver.Path {
	return p.Path.DriverPath(driver.Path{MergesDatagrams: true, Close: p.Close}, p)
}

// Close ends the mode's processes and takes the sandboxes and the lab down, and with
// them the tunnel's devices, routes and rules.
func (p *Path) Close(ctx context.Context) error {
	err := p.Path.Close(ctx)
	for _, c := range p.talks {
		_ = c.Close() // the other end is gone
	}
	return err
}
