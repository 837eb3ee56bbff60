//go:build linux

package netns

import (
	"context"
	"fmt"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/linuxnet/redirect"
	"tare/internal/result"
)

// port returns the name of the host's end of a sandbox's device, counted from 0.
func (p *path) port(n int) string {
	if p.netkit {
		return fmt.Sprintf("netkit%d", n)
	}
	return lab.VethName(n)
}

// connect creates the devices between a host and a sandbox.
func (p *path) connect(host *linuxnet.Links, port linuxnet.Device, sandbox *linuxnet.NS, device linuxnet.Device) error {
	if p.netkit {
		return host.Netkit(port, sandbox, device)
	}
	return host.Veth(port, sandbox, device)
}

// installPrograms loads the programs that redirect packets between a host's sandboxes and
// the underlay, past the host's IP stack. It returns the step of the path that they are, if
// the path has them.
func (s *side) installPrograms() ([]pathspec.Step, error) {
	if !s.boxed || !s.parts[partPrograms] {
		return nil, nil
	}
	r, err := redirect.New(s.ns, s.host.Underlay)
	if err != nil {
		return nil, err
	}
	s.routers = append(s.routers, r)
	s.AtClose(r.Close)
	for i, box := range s.ends {
		if err := s.addRedirected(r, box, s.port(i)); err != nil {
			return nil, err
		}
		s.mustRedirect(r, i+1, s.port(i))
		s.mustAvoidHost(i+1, box, s.port(i))
	}
	program := func(name, device string) result.Fact {
		return result.Fact{Name: name, Value: r.Hook(device) + " of " + device}
	}
	step := pathspec.RuleStep(s.Place, "ebpf", "redirect", program("tare_from_sandbox", s.port(0)), program("tare_to_sandbox", s.host.Underlay))
	return []pathspec.Step{perPair(pathspec.ProvenBy(step, s.At+"/"+programs(s.port(0))))}, nil
}

// addRedirected adds a sandbox to those whose packets a host redirects.
func (s *side) addRedirected(r *redirect.Router, box sandboxAddrs, port string) error {
	host, err := s.ns.Links().HardwareAddr(port)
	if err != nil {
		return err
	}
	inside, err := box.ns.Links().HardwareAddr(eth)
	if err != nil {
		return err
	}
	sandbox := redirect.Sandbox{Device: port, Host: host, Inside: inside, Addrs: box.own}
	if s.netkit {
		return r.AddNetkit(sandbox)
	}
	return r.AddVeth(sandbox)
}

// programs names, in counters, the programs that redirect the packets of a host's device.
func programs(port string) string { return "ebpf:" + port }

// mustRedirect requires that the programs of a host redirected the traffic of a pair, both
// ways.
func (s *side) mustRedirect(r *redirect.Router, pair int, port string) {
	counter := func(what string) string { return pathspec.CounterName(s.At, programs(port), what) }
	s.AddReader(func(_ context.Context, c driver.Counters) error {
		n, err := r.Counts(port)
		if err != nil {
			return err
		}
		c[counter("out_packets")], c[counter("out_bytes")] = n.Out.Packets, n.Out.Bytes
		c[counter("in_packets")], c[counter("in_bytes")] = n.In.Packets, n.In.Bytes
		return nil
	})
	out, in := s.expectations()
	s.AddRules(
		driver.Rule{Counter: counter("out_bytes"), Expect: out, Pair: pair, OfClient: s.role == "client"},
		driver.Rule{Counter: counter("in_bytes"), Expect: in, Pair: pair, OfClient: s.role == "client"})
}

// expectations returns what is expected of what a sandbox of the host sends and receives.
func (s *side) expectations() (out, in driver.Expect) {
	if s.role == "client" {
		return driver.Forward, driver.Reverse
	}
	return driver.Reverse, driver.Forward
}

// mustAvoidHost requires that the traffic of a pair crosses of its device what the programs
// let it cross. What is redirected to a sandbox continues at the sandbox's end, so the
// host's end sends nothing. The other way, what a sandbox sends over a veth arrives at the
// host's end; over netkit it is redirected before that.
func (s *side) mustAvoidHost(pair int, box sandboxAddrs, port string) {
	if s.netkit {
		s.mustBeIdle(s.place, port)
		s.mustCarry(pair, box.place, eth, !s.forward())
		return
	}
	out, _ := s.expectations()
	s.ReadDevice(s.Place, pathspec.Device{Name: port})
	s.AddRules(
		driver.Rule{Counter: pathspec.CounterName(s.At, port, "rx_bytes"), Expect: out, Pair: pair},
		driver.Rule{Counter: pathspec.CounterName(s.At, port, "tx_bytes"), Expect: driver.NoTraffic})
}
