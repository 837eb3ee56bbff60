package rootless

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/notes"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// path is a mode that stands, with the notes taken while it was built.
type path struct {
	notes.Path
	lab   *lab.Lab
	mtu   int
	prog  installed
	own   []*linuxnet.NS    // sandboxes
	at    [][2]*linuxnet.NS // of client and server, by pair
	procs []*daemon.Process
	facts []result.Fact
}

// Lab is the lab that the path stands on.
func (p *path) Lab() *lab.Lab { return p.lab }

// Facts are which program it is and the sandbox's MTU.
func (p *path) Facts() []result.Fact { return p.facts }

// Roots are the programs' processes.
func (p *path) Roots() []int {
	var pids []int
	for _, d := range p.procs {
		pids = append(pids, d.PID())
	}
	return pids
}

// Forget has nothing to let go of: the programs forget a connection when it ends, and no
// kernel tracks any.
func (p *path) Forget(context.Context) error { return nil }

// Snapshot reads every counter. What keeps it from that is most often that a program has
// ended, and then that is what it says.
func (p *path) Snapshot(ctx context.Context) (driver.Counters, error) {
	for _, d := range p.procs {
		if err := d.Running(); err != nil {
			return nil, fmt.Errorf("the network of the sandbox of %s is down: %w", p.Mode, err)
		}
	}
	c, err := p.Path.Snapshot(ctx)
	return c, p.explain(err)
}

// explain puts the end of a program before an error that came of it.
func (p *path) explain(err error) error {
	if err == nil {
		return nil
	}
	for _, d := range p.procs {
		if fate := d.Fate(); fate != "" {
			return fmt.Errorf("%s (%w)", fate, err)
		}
	}
	return err
}

// Close ends the programs and takes the sandboxes and the lab down.
func (p *path) Close(context.Context) error {
	var errs []error
	for _, d := range p.procs {
		errs = append(errs, d.Close())
	}
	for _, ns := range p.own {
		errs = append(errs, ns.Close())
	}
	return errors.Join(append(errs, p.lab.Close())...)
}

// place is where an end is.
func place(ns *linuxnet.NS, host, at string) notes.Place {
	return notes.Place{At: at, Host: host, Stack: notes.Space{NS: ns}}
}

// end is where an agent is started.
func end(at notes.Place, ns *linuxnet.NS) notes.End {
	return notes.End{Place: at, Launcher: transport.Local{Start: ns.Start}}
}

// build makes the pairs: with out, clients in sandboxes of host a, else servers in
// sandboxes of host b.
func (p *path) build(ctx context.Context, out bool) error {
	a, b := place(p.lab.A.NS, "a", "a"), place(p.lab.B.NS, "b", "b")
	dev := func(name string) notes.Device { return notes.Device{Name: name} }
	// Between the program and the other end runs a connection of its own, whose packets
	// neither end counts: what is known is that the payload must cross.
	p.CarriesAtLeast(notes.All, a, dev(lab.Underlay), notes.Transmits)
	p.CarriesAtLeast(notes.All, b, dev(lab.Underlay), notes.Receives)
	p.Rests(a, dev(lo))
	p.Rests(b, dev(lo))
	err := p.Each(func(pair int) error {
		role, host, h := "server", b, p.lab.B
		if out {
			role, host, h = "client", a, p.lab.A
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
			p.at = append(p.at, [2]*linuxnet.NS{box.space, p.lab.B.NS})
			p.Ends(end(box.at, box.space), end(b, p.lab.B.NS), p.lab.B.Addr[:1], p.lab.B.Addr[:1], notes.AnyPort)
			slices.Reverse(own)
			if pair == 1 {
				p.Draw(slices.Concat(own, wire, []notes.Step{notes.ProcessAt(b)})...)
			}
			return nil
		}
		p.at = append(p.at, [2]*linuxnet.NS{p.lab.A.NS, box.space})
		p.Ends(end(a, p.lab.A.NS), end(box.at, box.space), []netip.Addr{box.own.Addr()}, p.lab.B.Addr[:1], port(pair))
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
