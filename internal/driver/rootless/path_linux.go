package rootless

import (
	"context"
	"net/netip"
	"slices"
	"strconv"

	"tare/internal/driver/manned"
	"tare/internal/driver/notes"
	"tare/internal/lab"
)

// path is a mode that stands.
type path struct {
	manned.Path
	mtu  int
	prog installed
}

// build makes the pairs: with out, clients in sandboxes of host a, else servers in
// sandboxes of host b.
func (p *path) build(ctx context.Context, out bool) error {
	a, b := manned.At(p.Stands.A.NS, "a", "a"), manned.At(p.Stands.B.NS, "b", "b")
	dev := func(name string) notes.Device { return notes.Device{Name: name} }
	// Between the program and the other end runs a connection of its own, whose packets
	// neither end counts: what is known is that the payload must cross.
	p.CarriesAtLeast(notes.All, a, dev(lab.Underlay), notes.Transmits)
	p.CarriesAtLeast(notes.All, b, dev(lab.Underlay), notes.Receives)
	p.Rests(a, dev(lo))
	p.Rests(b, dev(lo))
	err := p.Each(func(pair int) error {
		role, host, h := "server", b, p.Stands.B
		if out {
			role, host, h = "client", a, p.Stands.A
		}
		box, err := p.box(ctx, h, host, role, pair, !out)
		if err != nil {
			return err
		}
		// The device sends what the sandbox sends.
		p.CarriesAtLeast(pair, box.at, dev(tap), notes.Direction(out))
		p.Rests(box.at, dev(lo))
		wire := []notes.Step{notes.DeviceAt(a, dev(lab.Underlay)), notes.DeviceAt(b, dev(lab.Underlay))}
		own := []notes.Step{notes.Own(notes.By(notes.Rule(host, "process", p.prog.name()), host.At+"/"+p.counts(pair))),
			notes.Own(notes.DeviceAt(box.at, dev(tap))), notes.ProcessAt(box.at)}
		if out {
			p.Between(box.space, p.Stands.B.NS)
			p.Ends(manned.End(box.at, box.space), manned.End(b, p.Stands.B.NS), p.Stands.B.Addr[:1], p.Stands.B.Addr[:1], notes.AnyPort)
			slices.Reverse(own)
			if pair == 1 {
				p.Draw(slices.Concat(own, wire, []notes.Step{notes.ProcessAt(b)})...)
			}
			return nil
		}
		p.Between(p.Stands.A.NS, box.space)
		p.Ends(manned.End(a, p.Stands.A.NS), manned.End(box.at, box.space), []netip.Addr{box.own.Addr()}, p.Stands.B.Addr[:1], port(pair))
		if pair == 1 {
			p.Draw(slices.Concat([]notes.Step{notes.ProcessAt(a)}, wire, own)...)
		}
		return nil
	})
	return err
}

const lo = "lo"

func port(pair int) uint16 { return firstPort + uint16(pair) - 1 } //nolint:gosec // up to MaxPairs

// counts names the program of a pair in counters.
func (p *path) counts(pair int) string {
	if pair == 1 {
		return p.prog.name()
	}
	return p.prog.name() + strconv.Itoa(pair)
}
