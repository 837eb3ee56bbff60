//go:build linux

package netns

import (
	"context"
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// side is a host with the endpoints of one role, and what connects these with the underlay.
type side struct {
	place
	*path
	host    *lab.Host
	role    string // client or server
	net     lab.Net
	boxed   bool // the endpoints are in sandboxes
	gateway bool // the mode has rules on this host, though a variant may leave them out
	// replaceable means that the client of another pair is no place of its own on the path, so that a pair's server can
	// serve the client of the first one.
	replaceable bool
	ends        []sandboxAddrs
}

// forward returns the direction in which the host's devices towards the endpoints carry what
// clients send.
func (s *side) forward() pathspec.Direction { return pathspec.Direction(s.role == "server") }

func (m crossing) build(p *path) error {
	p.netkit = m.netkit
	a, err := p.addSide(p.OnLab.A, "client", lab.NetA, m.clients)
	if err != nil {
		return err
	}
	b, err := p.addSide(p.OnLab.B, "server", lab.NetB, true)
	if err != nil {
		return err
	}
	b.replaceable = !a.boxed
	for i, client := range a.ends {
		server := b.ends[i]
		dial, port := server.own, uint16(pathspec.ServerChoosesPort)
		if p.parts[partDNAT] {
			dial = p.OnLab.B.Addr
		}
		if p.parts[partDNAT] || p.parts[partFilter] { // a rule names it
			port = uint16(pathspec.FirstPort + i)
		}
		p.addPair(client.place, server.place, server.own, dial, port)
	}
	if err := routes(a, b); err != nil {
		return err
	}
	p.underlay()
	var steps []pathspec.Step
	for _, s := range []*side{a, b} {
		rule, err := s.installRules()
		if err != nil {
			return err
		}
		p.mustBeIdle(s.place, lo)
		own := slices.Concat(s.inner(), rule, []pathspec.Step{deviceStep(s.place, eth)})
		if s == b {
			slices.Reverse(own)
		}
		steps = append(steps, own...)
	}
	p.SetSteps(steps...)
	return nil
}

// addSide creates the endpoints of one host.
func (p *path) addSide(h *lab.Host, role string, net lab.Net, boxes bool) (*side, error) {
	s := &side{place: p.hostPlace(h), path: p, host: h, role: role, net: net, gateway: boxes, boxed: boxes && p.parts[partNamespace]}
	if !s.boxed {
		return s, p.ForEachPair(func(int) error {
			s.ends = append(s.ends, sandboxAddrs{s.place, h.Addr})
			return nil
		})
	}
	if err := p.OnLab.EnableForwarding(s.ns); err != nil {
		return nil, err
	}
	if p.parts[partBridge] {
		if err := p.bridgeAt(s.place, net); err != nil {
			return nil, err
		}
		p.mustCarry(pathspec.AllPairs, s.place, br, s.forward())
	}
	return s, p.ForEachPair(func(pair int) error {
		port := p.port(pair - 1)
		box, err := p.addSandbox(s.place, h, lab.PairName(role, pair), port, net, 1+pair)
		if err != nil {
			return err
		}
		s.ends = append(s.ends, box)
		if !p.parts[partPrograms] { // otherwise see mustAvoidHost
			p.mustCarry(pair, s.place, port, s.forward())
		}
		if !p.parts[partBridge] {
			return nil // it has the route already
		}
		return p.addDefaultRoute(box.place, net)
	})
}

// routes adds routes to those sandboxes that the other host reaches by their own addresses.
func routes(a, b *side) error {
	if b.boxed && !b.parts[partDNAT] {
		if err := a.routeTo(b); err != nil {
			return err
		}
	}
	if a.boxed && !a.parts[partMasquerade] {
		return b.routeTo(a)
	}
	return nil
}

// routeTo routes the other side's subnets through its host.
func (s *side) routeTo(other *side) error {
	for i, subnet := range s.OnLab.Addresses(other.net, 0) {
		if err := s.ns.Routes().Route(subnet.Masked(), other.host.Addr[i], ""); err != nil {
			return err
		}
	}
	return nil
}

// rules returns the rules of a host: those of the mode's parts, and if connections are to be
// tracked and none of these shows that they are, the rule that does only that.
func (s *side) rules() (rules linuxnet.GatewayRules) {
	if !s.gateway {
		return 0
	}
	client := s.role == "client"
	shown := s.parts[partFilter] || s.parts[partMasquerade] && client || s.parts[partDNAT] && !client
	for rule, kept := range map[linuxnet.GatewayRules]bool{
		linuxnet.RuleFilter:        s.parts[partFilter],
		linuxnet.RuleMasquerade:    s.parts[partMasquerade],
		linuxnet.RuleDNAT:          s.parts[partDNAT],
		linuxnet.RuleTrackLeaving:  s.parts[partConntrack] && !shown && client,
		linuxnet.RuleTrackArriving: s.parts[partConntrack] && !shown && !client,
	} {
		if kept {
			rules |= rule
		}
	}
	return rules
}

// installRules installs a host's rules, or its programs, with what their counters must show. It returns the
// step of the path that they are, if any. The servers are published in order, from the first
// port on.
func (s *side) installRules() (steps []pathspec.Step, err error) {
	rules := s.rules()
	if rules == 0 {
		s.mustNotTrack()
		return s.installPrograms()
	}
	g := linuxnet.Gateway{Table: table, Bridge: br, Rules: rules}
	if !s.parts[partBridge] {
		g.Bridge = "veth*"
	}
	for _, a := range s.OnLab.Addresses(s.net, 0) {
		g.Subnets = append(g.Subnets, a.Masked())
	}
	for i := 0; s.role == "server" && i < len(s.ends); i++ {
		port := uint16(pathspec.FirstPort + i)
		for _, to := range pathspec.WithPort(s.ends[i].own, port) {
			g.Publish = append(g.Publish, linuxnet.Published{Port: port, To: to})
		}
	}
	if s.replaceable && len(s.ends) > 1 && rules&linuxnet.RuleDNAT != 0 && !s.OnLab.Split() {
		s.events = append(s.events, s.endpointReplaced(g))
	}
	s.readTableCounters(s.place)
	return []pathspec.Step{s.proveRules(rules)}, s.ns.Rules().Gateway(g)
}

// proveRules adds the rules of proof for a host's counters, and returns the step.
func (s *side) proveRules(rules linuxnet.GatewayRules) pathspec.Step {
	client := s.role == "client"
	step := ruleStep(s.place, "connection tracking")
	if rules&linuxnet.RuleFilter != 0 {
		sent, answered := linuxnet.CountOut, linuxnet.CountIn
		if !client {
			sent, answered = answered, sent
		}
		s.mustCount(sent, driver.Forward)
		s.mustCount(answered, driver.Reverse)
		step = ruleStep(s.place, "forward chain")
	}
	first := func(counter string) {
		s.AddRules(driver.Rule{Counter: pathspec.CounterName(s.At, table, counter+"_packets"), Expect: driver.Connections})
	}
	switch {
	case rules&linuxnet.RuleMasquerade != 0 && client:
		first(linuxnet.CountMasquerade)
		step = natStep(s.place, "masquerade")
	case rules&linuxnet.RuleDNAT != 0 && !client:
		first(linuxnet.CountDNAT)
		step = natStep(s.place, "DNAT")
	case rules&(linuxnet.RuleTrackArriving|linuxnet.RuleTrackLeaving) != 0:
		first(linuxnet.CountTracked)
	}
	return step
}

// mustNotTrack requires that a host tracks no connections, if the variant has left that out.
func (s *side) mustNotTrack() {
	if kept, has := s.parts[partConntrack]; kept || !has {
		return
	}
	s.AddCheck(func() error {
		t, tracks, err := pathspec.NamespaceStack{NS: s.ns}.ReadTracked(context.Background())
		if err == nil && tracks && t.Count > 0 {
			err = fmt.Errorf("the kernel of %s tracks %d connections, and the part %s is off", s.At, t.Count, partConntrack)
		}
		return err
	})
}

// inner returns the steps from the first endpoint of a side to what is before its rules.
func (s *side) inner() []pathspec.Step {
	if !s.boxed {
		return []pathspec.Step{processStep(s.place)}
	}
	steps := endSteps(s.ends[0].place, s.place, s.port(0))
	if s.netkit && s.parts[partPrograms] {
		return steps[:len(steps)-1] // packets do not cross the host's end
	}
	if s.parts[partBridge] {
		steps = append(steps, deviceStep(s.place, br))
	}
	return steps
}

// mustCount adds a rule for a counter of the host's rules.
func (s *side) mustCount(name string, e driver.Expect) {
	s.AddRules(driver.Rule{Counter: pathspec.CounterName(s.At, table, name+"_bytes"), Expect: e})
}
