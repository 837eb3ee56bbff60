package rootless

import (
	"context"
	"net/netip"
	"slices"

	"tare/internal/driver/pathspec"
	"tare/internal/driver/procpath"
	"tare/internal/lab"
)

// path is a mode that stands.
type path struct {
	procpath.Path
	mtu  int
	prog installed
}

// build makes the pairs: with out, clients in sandboxes of host a, else servers in
// sandboxes of host b.
func (p *path) build(ctx context.Context, out bool) error {
	a, b := procpath.NamespacePlace(p.OnLab.A.NS, "a", "a"), procpath.NamespacePlace(p.OnLab.B.NS, "b", "b")
	dev := func(name string) pathspec.Device { return pathspec.Device{Name: name} }
	// Between the program and the other end runs a connection of its own, whose packets
	// neither end counts: what is known is that the payload must cross.
	p.MustCarryAtLeast(pathspec.AllPairs, a, dev(lab.Underlay), pathspec.Transmits)
	p.MustCarryAtLeast(pathspec.AllPairs, b, dev(lab.Underlay), pathspec.Receives)
	p.MustBeIdle(a, dev(lo))
	p.MustBeIdle(b, dev(lo))
	err := p.ForEachPair(func(pair int) error {
		role, host, h := "server", b, p.OnLab.B
		if out {
			role, host, h = "client", a, p.OnLab.A
		}
		box, err := p.box(ctx, h, host, role, pair, !out)
		if err != nil {
			return err
		}
		// The device sends what the sandbox sends.
		p.MustCarryAtLeast(pair, box.at, dev(tap), pathspec.Direction(out))
		p.MustBeIdle(box.at, dev(lo))
		wire := []pathspec.Step{pathspec.DeviceStep(a, dev(lab.Underlay)), pathspec.DeviceStep(b, dev(lab.Underlay))}
		own := []pathspec.Step{pathspec.PerPair(pathspec.ProvenBy(pathspec.RuleStep(host, "process", p.prog.name()), host.At+"/"+p.counts(pair))),
			pathspec.PerPair(pathspec.DeviceStep(box.at, dev(tap))), pathspec.ProcessStep(box.at)}
		if out {
			p.AddPairNamespaces(box.space, p.OnLab.B.NS)
			p.AddPair(procpath.NamespaceEndpoint(box.at, box.space), procpath.NamespaceEndpoint(b, p.OnLab.B.NS), p.OnLab.B.Addr[:1], p.OnLab.B.Addr[:1], pathspec.ServerChoosesPort)
			slices.Reverse(own)
			if pair == 1 {
				p.SetSteps(slices.Concat(own, wire, []pathspec.Step{pathspec.ProcessStep(b)})...)
			}
			return nil
		}
		p.AddPairNamespaces(p.OnLab.A.NS, box.space)
		p.AddPair(procpath.NamespaceEndpoint(a, p.OnLab.A.NS), procpath.NamespaceEndpoint(box.at, box.space), []netip.Addr{box.address.Addr()}, p.OnLab.B.Addr[:1], port(pair))
		if pair == 1 {
			p.SetSteps(slices.Concat([]pathspec.Step{pathspec.ProcessStep(a)}, wire, own)...)
		}
		return nil
	})
	return err
}

const lo = "lo"

func port(pair int) uint16 { return firstPort + uint16(pair) - 1 } //nolint:gosec // up to MaxPairs

// counts names the program of a pair in counters.
func (p *path) counts(pair int) string { return lab.PairName(p.prog.name(), pair) }
