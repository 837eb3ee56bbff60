package podman

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/daemon"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/result"
)

// host: containers in their host's network.
func (p *path) host(ctx context.Context) error {
	err := p.ForEachPair(func(pair int) error {
		from, err := p.run(ctx, p.a, containers.Client, pair, engine.HostNetwork, 0)
		if err != nil {
			return err
		}
		to, err := p.run(ctx, p.b, containers.Server, pair, engine.HostNetwork, 0)
		if err != nil {
			return err
		}
		p.AddPair(from.end(), to.end(), p.b.host.Addr, p.b.host.Addr, pathspec.ServerChoosesPort)
		if pair == 1 {
			p.SetSteps(from.process(), p.a.hostStep(lab.Underlay), p.b.hostStep(lab.Underlay), to.process())
		}
		return nil
	})
	p.underlay()
	for _, s := range []*side{p.a, p.b} {
		p.MustBeIdle(s.Place, pathspec.Device{Name: lo})
	}
	return err
}

// published: process on a, underlay, DNAT on b, bridge, container on b.
func (p *path) published(ctx context.Context) error {
	servers, err := p.servers(ctx)
	if err != nil {
		return err
	}
	for _, s := range servers {
		p.AddPair(p.a.end(), s.end(), []netip.Addr{s.addr}, p.b.host.Addr[:1], s.port)
	}
	if err := p.intoBridge(ctx, servers); err != nil {
		return err
	}
	p.SetSteps(append([]pathspec.Step{pathspec.ProcessStep(p.a.Place), p.a.hostStep(lab.Underlay)}, p.inward(servers[0])...)...)
	return nil
}

// bridge: as published, with the clients in containers behind the masquerading bridge of a.
func (p *path) bridge(ctx context.Context) error {
	servers, err := p.servers(ctx)
	if err != nil {
		return err
	}
	var clients []*box
	err = p.ForEachPair(func(pair int) error {
		c, err := p.onBridge(ctx, p.a, containers.Client, pair, 0)
		if err != nil {
			return err
		}
		clients = append(clients, c)
		s := servers[pair-1]
		p.AddPair(c.end(), s.end(), []netip.Addr{s.addr}, p.b.host.Addr[:1], s.port)
		p.MustCarry(pair, p.a.Place, c.veth, pathspec.Receives)
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(p.outOfBridge(ctx, clients), p.intoBridge(ctx, servers)); err != nil {
		return err
	}
	c := clients[0]
	of, _ := result.Of(masqueradeCounter(p.a))
	out := []pathspec.Step{c.process(), c.deviceStep(), c.vethStep(), p.a.hostStep(p.a.info.BridgeName()),
		pathspec.ProvenBy(pathspec.RuleStep(p.a.Place, "nat", "masquerade"), of), p.a.hostStep(lab.Underlay)}
	p.SetSteps(append(out, p.inward(servers[0])...)...)
	return nil
}

// inward returns the steps from the underlay of host b to a server on its bridge.
func (p *path) inward(s *box) []pathspec.Step {
	of, _ := result.Of(dnatCounter(p.b, s.port))
	return []pathspec.Step{
		p.b.hostStep(lab.Underlay), pathspec.PerPair(pathspec.ProvenBy(pathspec.RuleStep(p.b.Place, "nat", "DNAT"), of)),
		p.b.hostStep(p.b.info.BridgeName()), s.vethStep(), s.deviceStep(), s.process(),
	}
}

// servers starts the servers on the bridge of host b, each with its own published port.
func (p *path) servers(ctx context.Context) (all []*box, err error) {
	err = p.ForEachPair(func(pair int) error {
		s, err := p.onBridge(ctx, p.b, containers.Server, pair, portOf(pair))
		all = append(all, s)
		return err
	})
	return all, err
}

func portOf(pair int) uint16 { return uint16(pathspec.FirstPort + pair - 1) } //nolint:gosec // up to MaxPairs

// onBridge starts a container on a host's default bridge.
func (p *path) onBridge(ctx context.Context, s *side, role string, pair int, port uint16) (*box, error) {
	b, err := p.run(ctx, s, role, pair, "", port)
	if err != nil {
		return nil, err
	}
	name, err := b.ns.Links().PeerIn(s.ns, b.device)
	if err != nil {
		return nil, err
	}
	b.veth = pathspec.Device{Name: name, Role: containers.ContainerName(role, pair) + ".veth"}
	return b, errors.Join(s.ns.Tuning().Segmentation(name, p.lab.Spec.Offload), s.ns.Tuning().Segmentation(s.info.BridgeName(), p.lab.Spec.Offload))
}

func (b *box) vethStep() pathspec.Step {
	return pathspec.PerPair(pathspec.DeviceStep(b.side.Place, b.veth))
}

// intoBridge requires that the traffic reaches the servers over the underlay and through the rules of
// their published ports.
func (p *path) intoBridge(ctx context.Context, servers []*box) error {
	p.underlay()
	for _, s := range servers {
		p.MustCarry(s.pair, p.b.Place, s.veth, pathspec.Transmits)
		p.AddRules(driver.Rule{Counter: dnatCounter(p.b, s.port), Expect: driver.Connections, Pair: s.pair})
	}
	p.MustCarry(pathspec.AllPairs, p.b.Place, pathspec.Device{Name: p.b.info.BridgeName()}, pathspec.Transmits)
	p.MustBeIdle(p.b.Place, pathspec.Device{Name: lo})
	return p.watch(ctx, p.b, func(rules []rule, into driver.Counters) (missing string) {
		for _, s := range servers {
			found := translating(rules, s.port, s.addr)
			if len(found) == 0 {
				missing = fmt.Sprintf("the DNAT rule from port %d to %s", s.port, s.addr)
				continue
			}
			into[dnatCounter(p.b, s.port)] = sum(found)
		}
		return missing
	})
}

// outOfBridge requires that the clients' traffic leaves the bridge of host a masqueraded.
func (p *path) outOfBridge(ctx context.Context, clients []*box) error {
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: p.a.info.BridgeName()}, pathspec.Receives)
	p.MustBeIdle(p.a.Place, pathspec.Device{Name: lo})
	p.AddRules(driver.Rule{Counter: masqueradeCounter(p.a), Expect: driver.Connections})
	return p.watch(ctx, p.a, func(rules []rule, into driver.Counters) (missing string) {
		counted := map[string]bool{} // netavark has one chain for all containers, CNI one for each
		var packets uint64
		for _, c := range clients {
			found := masquerading(rules, c.addr)
			if len(found) == 0 {
				return fmt.Sprintf("the masquerade rule for packets from %s", c.addr)
			}
			if chain := found[0].chain; !counted[chain] {
				counted[chain] = true
				packets += sum(found)
			}
		}
		into[masqueradeCounter(p.a)] = packets
		return ""
	})
}

// watch reads the counters of rules in a host's table nat before and after each trial, and requires
// that the rules exist now. read returns which rule is missing; that has no counter, which fails
// verification.
func (p *path) watch(ctx context.Context, s *side, read func([]rule, driver.Counters) (missing string)) error {
	counters := func(ctx context.Context, into driver.Counters) (string, error) {
		rules, err := s.nat(ctx)
		if err != nil {
			return "", err
		}
		return read(rules, into), nil
	}
	p.AddReader(func(ctx context.Context, into driver.Counters) error {
		_, err := counters(ctx, into)
		return err
	})
	missing, err := counters(ctx, driver.Counters{})
	if err == nil && missing != "" {
		err = fmt.Errorf("find %s of host %s: the table nat of iptables has none", missing, s.At)
	}
	return err
}

// nat reads the rules of a host's table nat.
func (s *side) nat(ctx context.Context) ([]rule, error) {
	program, err := daemon.Find("iptables-save") // where Podman finds iptables
	if err != nil {
		return nil, fmt.Errorf("read the table nat of host %s: %w; install it (Debian: apt-get install iptables)", s.At, err)
	}
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "-c", "-t", "nat")
	cmd.Stdout, cmd.Stderr = &out, &words
	err = s.ns.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	var rules []rule
	if err == nil {
		rules, err = parseRules(out.String())
	}
	if err != nil {
		return nil, fmt.Errorf("read the table nat of host %s: %w: %s", s.At, err, strings.TrimSpace(words.String()))
	}
	return rules, nil
}

// dnatCounter names the counter of connections that matched the rules of a published port, and
// masqueradeCounter that of masqueraded connections.
func dnatCounter(s *side, port uint16) string {
	return pathspec.CounterName(s.At, fmt.Sprintf("dnat:%d", port), "packets")
}

func masqueradeCounter(s *side) string {
	return pathspec.CounterName(s.At, "masquerade", "packets")
}
