package engines

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/study"
)

// firstOnUnderlay is the first host number of containers on the underlay's subnet, and
// unusedGateway that of an unused gateway: both networks are one segment without a router,
// and the engine would otherwise reserve host a's address for it.
const (
	firstOnUnderlay = 11
	unusedGateway   = 254
)

func (m onUnderlay) build(ctx context.Context, p *path) error {
	spec := engine.NetworkSpec{
		Run: p.lab.Spec.Claim.ID, Driver: m.kind, Options: map[string]string{"parent": eth},
		Gateway: p.lab.Addresses(lab.NetUnderlay, unusedGateway)[0].Addr(),
	}
	spec.Name = engine.Name(spec.Run, m.kind)
	spec.Subnet, spec.Subnet6 = containers.SplitFamilies(p.underlayAddresses(0))
	for _, s := range p.sides() {
		if _, err := s.engine.CreateNetwork(ctx, spec); err != nil {
			return m.explainMissing(p.Mode, err)
		}
	}
	all, err := p.boxes.pairs(ctx, func(role string, pair int) engine.ContainerSpec {
		number := firstOnUnderlay + 2*(pair-1)
		if role == containers.Server {
			number++
		}
		return engine.ContainerSpec{Network: spec.Name, Addresses: prefixAddresses(p.underlayAddresses(number))}
	})
	if err != nil {
		return m.explainMissing(p.Mode, err)
	}
	for i, c := range all {
		for _, b := range []*box{c.from, c.to} {
			on, err := b.ns.Links().Parent(b.side.ns, eth)
			if err != nil {
				return err
			}
			if on != eth {
				return fmt.Errorf("%s in %s has parent %s, not the underlay device %s", eth, b.At, on, eth)
			}
			if err := p.bypassOthers(b, eth); err != nil {
				return err
			}
		}
		at := c.to.container.Addresses()
		p.AddPair(c.from.end(), c.to.end(), at, at, pathspec.ServerChoosesPort)
		p.MustCarry(i+1, c.from.Place, c.from.eth(), pathspec.Transmits)
		p.MustCarry(i+1, c.to.Place, c.to.eth(), pathspec.Receives)
	}
	p.underlay()
	for _, s := range p.sides() {
		p.idle(s.Place, docker0)
	}
	from, to := all[0].from, all[0].to
	p.SetSteps(from.process(), from.ethStep(), p.a.device(eth), p.b.device(eth), to.ethStep(), to.process())
	return nil
}

// underlayAddresses returns the addresses of a host number on the underlay. With the network stack of a
// sandbox they are IPv4 only: such a device passes only the multicast groups that the kernel has
// joined on it, so neighbour solicitations for the addresses of the sandbox do not arrive.
func (h *hosts) underlayAddresses(number int) []netip.Prefix {
	all := h.lab.Addresses(lab.NetUnderlay, number)
	if h.config.Runtime == study.RuntimeRunsc {
		return all[:1]
	}
	return all
}

// explainMissing recognises from the engine's error a kernel without such devices.
func (m onUnderlay) explainMissing(mode string, err error) error {
	if !strings.Contains(err.Error(), "operation not supported") {
		return err
	}
	return &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("the kernel lacks %s (CONFIG_%s): %v", m.kind, strings.ToUpper(m.kind), err)}
}

// prefixAddresses returns the addresses of prefixes.
func prefixAddresses(prefixes []netip.Prefix) []netip.Addr {
	var out []netip.Addr
	for _, p := range prefixes {
		out = append(out, p.Addr())
	}
	return out
}
