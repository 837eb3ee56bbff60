package rootless

import (
	"context"
	"net/netip"
	"slices"

	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// path is a mode that is set up.
type path struct {
	labdriver.Path
	mtu   int
	parts labdriver.PartSet
	prog  installed // the zero value without partProcess
}

// endpoint is the endpoint that the mode has in a sandbox.
type endpoint struct {
	at      pathspec.Place
	space   *linuxnet.NS
	address netip.Addr      // of its own
	public  netip.Addr      // at which it is dialled
	port    uint16          // of the server
	steps   []pathspec.Step // from its host to it
}

// build creates the pairs: with out, clients in sandboxes on host a, otherwise servers in
// sandboxes on host b.
func (p *path) build(ctx context.Context, out bool) error {
	a, b := labdriver.NamespacePlace(p.OnLab.A.NS, "a", "a"), labdriver.NamespacePlace(p.OnLab.B.NS, "b", "b")
	p.mustCarry(pathspec.AllPairs, a, lab.Underlay, pathspec.Transmits)
	p.mustCarry(pathspec.AllPairs, b, lab.Underlay, pathspec.Receives)
	p.mustRest(a)
	p.mustRest(b)
	s := side{role: "server", place: b, host: p.OnLab.B, other: p.OnLab.A, net: lab.NetB}
	if out {
		s = side{out: true, role: "client", place: a, host: p.OnLab.A, other: p.OnLab.B, net: lab.NetA}
	}
	if p.parts[partNamespace] && !p.parts[partProcess] {
		if err := p.route(s); err != nil {
			return err
		}
	}
	wire := []pathspec.Step{pathspec.DeviceStep(a, device(lab.Underlay)), pathspec.DeviceStep(b, device(lab.Underlay))}
	return p.ForEachPair(func(pair int) error {
		end, err := p.connect(ctx, s, pair)
		if err != nil {
			return err
		}
		own := labdriver.NamespaceEndpoint(end.at, end.space)
		if out {
			p.AddPairNamespaces(end.space, p.OnLab.B.NS)
			p.AddPair(own, labdriver.NamespaceEndpoint(b, p.OnLab.B.NS), p.OnLab.B.Addr[:1], p.OnLab.B.Addr[:1], pathspec.ServerChoosesPort)
			slices.Reverse(end.steps)
			if pair == 1 {
				p.SetSteps(slices.Concat(end.steps, wire, []pathspec.Step{pathspec.ProcessStep(b)})...)
			}
			return nil
		}
		p.AddPairNamespaces(p.OnLab.A.NS, end.space)
		p.AddPair(labdriver.NamespaceEndpoint(a, p.OnLab.A.NS), own, []netip.Addr{end.address}, []netip.Addr{end.public}, end.port)
		if pair == 1 {
			p.SetSteps(slices.Concat([]pathspec.Step{pathspec.ProcessStep(a)}, wire, end.steps)...)
		}
		return nil
	})
}

// connect creates the endpoint of a pair: behind its program, behind a veth, or as a process
// of the host.
func (p *path) connect(ctx context.Context, s side, pair int) (endpoint, error) {
	switch {
	case p.parts[partProcess]:
		return p.behindProgram(ctx, s, pair)
	case p.parts[partNamespace]:
		return p.behindVeth(s, pair)
	}
	return endpoint{at: s.place, space: s.host.NS, address: s.host.Addr[0], public: s.host.Addr[0], port: pathspec.ServerChoosesPort,
		steps: []pathspec.Step{pathspec.ProcessStep(s.place)}}, nil
}

// mustCarry requires that the traffic crosses a device. The program has its own connection
// to the other endpoint, whose packets neither endpoint counts, so with it only the payload
// is known.
func (p *path) mustCarry(pair int, at pathspec.Place, name string, forward pathspec.Direction) {
	if p.parts[partProcess] {
		p.MustCarryAtLeast(pair, at, device(name), forward)
		return
	}
	p.MustCarry(pair, at, device(name), forward)
}

// mustRest requires that no traffic crosses the loopback device of a place.
func (p *path) mustRest(at pathspec.Place) { p.MustBeIdle(at, device(lo)) }

func device(name string) pathspec.Device { return pathspec.Device{Name: name} }

const lo = "lo"

func port(pair int) uint16 { return firstPort + uint16(pair) - 1 } //nolint:gosec // up to MaxPairs

// counterName returns the name of a pair's program in counters.
func (p *path) counterName(pair int) string { return lab.PairName(p.prog.name(), pair) }
