package engines

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/firewall"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/result"
	"tare/internal/study"
)

// optionTrusted names the devices of a host from which its engine lets packets to the own addresses of
// containers pass, separated by colons. Engines from 28.2 on know it.
const optionTrusted = "com.docker.network.bridge.trusted_host_interfaces"

// directly dials the servers' own addresses over a network whose published ports are translated. An engine
// from 28 on drops such packets, unless a setting of the engine allows them or an option of the network
// trusts the device on which they arrive.
func (p *gatewayPath) directly(ctx context.Context) error {
	allowed, wait := p.config.DirectRouting == study.On, joinWait()
	p.trusted = !allowed && !p.order.Without(settingTrusted)
	if !allowed && !p.trusted {
		wait = unsupportedWait
	}
	err := p.toServers(ctx)
	if err == nil {
		err = p.reach.all(ctx, wait)
	}
	if !remote.IsUnreachable(err) {
		return err
	}
	return p.explainDropped(ctx, err)
}

// explainDropped names the rule by which the engine of host b dropped packets to a container's own
// address, if there is one.
func (p *gatewayPath) explainDropped(ctx context.Context, cause error) error {
	fix := fmt.Sprintf("allow them with engine: {direct_routing: on}, or with the setting %s: on, which trusts the device %s", settingTrusted, eth)
	if p.trusted { // 28.0 and 28.1 have the rule and do not know the option
		fix = fmt.Sprintf("the network trusts the device %s, which engines before 28.2 ignore; name a newer one in engine: lab", eth)
	}
	for _, at := range p.addresses() {
		rules, err := p.b.dropRules(ctx, at)
		if err != nil {
			return errors.Join(cause, err)
		}
		if n := firewall.Packets(rules); n > 0 {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the engine's rule in %s of host %s for packets to %s dropped %d of them; %s",
				p.b.firewall().Table(firewall.FamilyOf(at), "raw"), p.b.At, at, n, fix)}
		}
	}
	return cause
}

// addresses returns the own addresses of the servers.
func (p *gatewayPath) addresses() (all []netip.Addr) {
	for _, s := range p.servers {
		all = append(all, s.to...)
	}
	return all
}

// dropRules returns the rules with which the engine of a host drops packets to a container's own
// address before they are tracked.
func (s *side) dropRules(ctx context.Context, at netip.Addr) ([]firewall.Rule, error) {
	f := firewall.FamilyOf(at)
	if has, err := s.firewall().HasRaw(f); err != nil || !has {
		return nil, err
	}
	rules, err := s.firewall().Rules(ctx, f, "raw")
	return slices.DeleteFunc(rules, func(r firewall.Rule) bool { return r.Target != "DROP" || r.Dest != at }), err
}

// watchDirect requires what lets packets to the servers' own addresses pass: no rule of the engine that
// drops them, or one that exempts a trusted device and has dropped nothing. The rules of the published
// ports must not match.
func (p *gatewayPath) watchDirect(ctx context.Context) error {
	const dropped = "direct.dropped"
	counter := pathspec.CounterName(p.b.At, dropped, "packets")
	servers := p.addresses()
	read := func(ctx context.Context, into driver.Counters) error {
		into[counter] = 0
		for _, at := range servers {
			rules, err := p.b.dropRules(ctx, at)
			if err != nil {
				return err
			}
			into[counter] += firewall.Packets(rules)
			switch known := p.b.engine.KnowsGateway(gatewayUnprotected); {
			case p.config.DirectRouting == study.On && len(rules) > 0:
				return fmt.Errorf("%s of host %s has a rule that drops packets to %s, although the engine allows direct routing", p.b.firewall().Table(firewall.FamilyOf(at), "raw"), p.b.At, at)
			case p.trusted && known && len(rules) == 0:
				return fmt.Errorf("find the rule that exempts %s from dropping packets to %s on host %s: %s has none; name an engine of version 28.2 or later", eth, at, p.b.At, p.b.firewall().Table(firewall.FamilyOf(at), "raw"))
			}
		}
		return nil
	}
	how := "the engine drops no packets to containers' own addresses (before version 28)"
	switch {
	case p.config.DirectRouting == study.On:
		how = "no rule drops packets to " + join(servers) + " (--allow-direct-routing)"
	case p.trusted && p.b.engine.KnowsGateway(gatewayUnprotected):
		how = "the rules that drop packets exempt those from " + eth + ": " + p.b.firewall().Tables(servers, "raw")
	}
	p.AddFacts(result.Fact{Name: p.b.At + " direct routing", Value: how})
	return p.Watch(ctx, read, driver.Rule{Counter: counter, Expect: driver.NoMatch})
}

func join(all []netip.Addr) string {
	var out []string
	for _, a := range all {
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}

// watchPublished reads the rules of both families that translate published ports of host b before and
// after each trial. They must match the connections, or none if the servers' own addresses are dialled.
func (p *gatewayPath) watchPublished(ctx context.Context) error {
	read := func(ctx context.Context, into driver.Counters) error {
		for _, s := range p.servers {
			into[dnatCounter(p.b, s.port)] = 0
			for _, at := range s.to {
				rules, err := p.b.firewall().Rules(ctx, firewall.FamilyOf(at), "nat")
				if err != nil {
					return err
				}
				found := firewall.Published(rules, s.port, at)
				if len(found) == 0 {
					return fmt.Errorf("find the DNAT rule from port %d of host %s to %s: %s has none", s.port, p.b.At, at, p.b.firewall().Table(firewall.FamilyOf(at), "nat"))
				}
				into[dnatCounter(p.b, s.port)] += firewall.Packets(found)
			}
		}
		return nil
	}
	var rules []driver.Rule
	for i, s := range p.servers {
		rule := driver.Rule{Counter: dnatCounter(p.b, s.port), Expect: driver.NoMatch}
		if p.translated {
			rule.Expect, rule.Pair = driver.Connections, i+1
		}
		rules = append(rules, rule)
	}
	p.AddFacts(result.Fact{Name: p.b.At + " DNAT rules", Value: p.b.firewall().Tables(p.servers[0].to, "nat")})
	return p.Watch(ctx, read, rules...)
}

// portTo is a published port and the addresses of the container behind it.
type portTo struct {
	port uint16
	to   []netip.Addr
}
