//go:build linux

package netns

import (
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// hostLocal: two processes on a, through the address of a. The kernel sends that over
// loopback.
func (p *path) hostLocal() error {
	a := p.hostPlace(p.lab.A)
	err := p.ForEachPair(func(int) error {
		p.addPair(a, a, p.lab.A.Addr, p.lab.A.Addr, pathspec.ServerChoosesPort)
		return nil
	})
	p.MustCarryBoth(pathspec.AllPairs, a.Place, pathspec.Device{Name: lo})
	p.mustBeIdle(a, eth)
	p.SetSteps(processStep(a), deviceStep(a, lo), processStep(a))
	return err
}

// colocated: two sandboxes for each pair on one bridge of a. Frames go from port to port;
// the bridge device itself sees them only if they are routed. Without the bridge a routes
// from veth to veth; without sandboxes it is host-local.
func (p *path) colocated() error {
	a := p.hostPlace(p.lab.A)
	if !p.parts[partNamespace] {
		if p.parts[partMTU] {
			if err := a.ns.Links().SetMTU(lo, p.mtu); err != nil {
				return err
			}
		}
		return p.hostLocal()
	}
	var bridge []pathspec.Step
	if p.parts[partBridge] {
		if err := p.bridgeAt(a, lab.NetA); err != nil {
			return err
		}
		bridge = append(bridge, deviceStep(a, br))
		p.mustBeIdle(a, br)
	} else if err := p.lab.EnableForwarding(a.ns); err != nil {
		return err
	}
	p.mustBeIdle(a, eth)
	return p.ForEachPair(func(pair int) error {
		out, in := 2*pair-2, 2*pair-1
		client, err := p.addSandbox(a, p.lab.A, lab.PairName("client", pair), lab.VethName(out), lab.NetA, 2+out)
		if err != nil {
			return err
		}
		server, err := p.addSandbox(a, p.lab.A, lab.PairName("server", pair), lab.VethName(in), lab.NetA, 2+in)
		if err != nil {
			return err
		}
		p.addPair(client.place, server.place, server.own, server.own, pathspec.ServerChoosesPort)
		p.mustCarry(pair, a, lab.VethName(out), pathspec.Receives)
		p.mustCarry(pair, a, lab.VethName(in), pathspec.Transmits)
		if pair == 1 {
			p.SetSteps(slices.Concat(endSteps(client.place, a, lab.VethName(out)), bridge, reversed(endSteps(server.place, a, lab.VethName(in))))...)
		}
		return nil
	})
}

// macvlan: a macvlan device of each host's underlay link, in a sandbox. In a split lab that
// link is a macvlan device itself, and the kernel attaches the sandbox's device beside it to
// the machine's network card.
func (p *path) macvlan() error {
	return p.onUnderlay((*linuxnet.Links).Macvlan, p.lab.Split())
}

// ipvlan: the same with ipvlan in L2 mode.
func (p *path) ipvlan() error { return p.onUnderlay((*linuxnet.Links).IPVlan, false) }

// firstOnUnderlay is the first host number of sandboxes on the underlay's subnet.
const firstOnUnderlay = 11

// onUnderlay builds endpoints on child devices of the hosts' underlay devices, or beside
// these.
func (p *path) onUnderlay(child func(on *linuxnet.Links, d linuxnet.Device, parent string, into *linuxnet.NS) error, beside bool) error {
	build := func(h *lab.Host, name string, number int) (sandboxAddrs, error) {
		in, err := p.sandboxPlace(h, name)
		if err != nil {
			return sandboxAddrs{}, err
		}
		if err := child(h.NS.Links(), p.lab.Device(eth, 0), h.Underlay, in.ns); err != nil {
			return sandboxAddrs{}, err
		}
		own := p.lab.Addresses(lab.NetUnderlay, number)
		return sandboxAddrs{in, lab.PrefixAddrs(own)}, p.setUpSandbox(in, own)
	}
	var link []pathspec.Step
	if beside {
		p.mustNotSend(p.lab.A, p.lab.B)
	} else {
		p.underlay()
		link = []pathspec.Step{deviceStep(p.hostPlace(p.lab.A), eth), deviceStep(p.hostPlace(p.lab.B), eth)}
	}
	return p.ForEachPair(func(pair int) error {
		number := firstOnUnderlay + 2*(pair-1)
		client, err := build(p.lab.A, lab.PairName("client", pair), number)
		if err != nil {
			return err
		}
		server, err := build(p.lab.B, lab.PairName("server", pair), number+1)
		if err != nil {
			return err
		}
		p.addPair(client.place, server.place, server.own, server.own, pathspec.ServerChoosesPort)
		p.mustCarry(pair, client.place, eth, pathspec.Transmits)
		p.mustCarry(pair, server.place, eth, pathspec.Receives)
		if pair == 1 {
			p.SetSteps(slices.Concat([]pathspec.Step{processStep(client.place), perPair(deviceStep(client.place, eth))}, link,
				[]pathspec.Step{perPair(deviceStep(server.place, eth)), processStep(server.place)})...)
		}
		return nil
	})
}

// mustNotSend requires that hosts send nothing on the underlay.
func (p *path) mustNotSend(hosts ...*lab.Host) {
	for _, h := range hosts {
		p.ReadDevice(p.hostPlace(h).Place, pathspec.Device{Name: eth})
		p.AddRules(driver.Rule{Counter: pathspec.CounterName(h.Name, eth, "tx_bytes"), Expect: driver.NoTraffic})
	}
}

// underlay requires that the traffic of all pairs crosses the underlay.
func (p *path) underlay() {
	p.mustCarry(pathspec.AllPairs, p.hostPlace(p.lab.A), eth, pathspec.Transmits)
	p.mustCarry(pathspec.AllPairs, p.hostPlace(p.lab.B), eth, pathspec.Receives)
}
