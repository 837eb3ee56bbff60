package ovs

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
)

// port is the UDP port of either tunnel (RFC 7348 section 8.1, RFC 8926 section 3.3).
func (p *path) port() uint16 {
	if p.way == geneve {
		return 6081
	}
	return 4789
}

// kernelDevice is the device by which the switch of the kernel tunnels; empty where it
// does not. The module makes and names it, a device for all tunnels of a kind and a port
// (dpif_port in lib/netdev-vport.c).
func (p *path) kernelDevice() string {
	switch {
	case p.process || p.way == flat:
		return ""
	case p.way == geneve:
		return "genev_sys_" + strconv.Itoa(int(p.port()))
	}
	return "vxlan_sys_" + strconv.Itoa(int(p.port()))
}

// proof declares what must move: the underlay; where there is a tunnel, its packets there
// and none that should have been inside of it; and the switch itself, by the kernel's
// counters of the device by which it tunnels, else by its account of its port, or by the
// time that the process ran.
func (p *path) proof(h hosts) error {
	p.MustCarry(pathspec.AllPairs, h.near.Place, pathspec.Device{Name: eth}, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, h.far.Place, pathspec.Device{Name: eth}, pathspec.Receives)
	for _, s := range []*side{h.near, h.far} {
		p.MustBeIdle(s.Place, pathspec.Device{Name: lo})
		p.MustBeIdle(s.Place, pathspec.Device{Name: inside})
		if p.way != flat {
			if err := p.tapped(h, s); err != nil {
				return err
			}
		}
		if p.process {
			if err := p.MustBeBusy(s.sw, pathspec.CounterName(s.At, p.counts(), "run_ns"), pathspec.AllPairs); err != nil {
				return err
			}
		} else if p.way == flat {
			p.switched(h, s)
		}
	}
	if device := p.kernelDevice(); device != "" {
		p.MustCarry(pathspec.AllPairs, h.near.Place, pathspec.Device{Name: device}, pathspec.Transmits)
		p.MustCarry(pathspec.AllPairs, h.far.Place, pathspec.Device{Name: device}, pathspec.Receives)
	}
	return nil
}

// into is the direction of the traffic that comes to a side, and out the one that leaves.
func (h hosts) into(s *side) (in, out driver.Expect) {
	if s == h.far {
		return driver.Forward, driver.Reverse
	}
	return driver.Reverse, driver.Forward
}

// tapped counts the tunnel's packets as they come off the underlay.
func (p *path) tapped(h hosts, s *side) error {
	var hidden []netip.Prefix
	for _, a := range p.subnet() {
		hidden = append(hidden, a.Masked())
	}
	if err := s.host.NS.CountTunnelIngress(table, eth, linuxnet.TunnelIngress{Port: p.port(), Inside: hidden}); err != nil {
		return err
	}
	p.AddReader(func(_ context.Context, into driver.Counters) error {
		counts, err := s.host.NS.IngressCounts(table)
		for name, n := range counts {
			into[pathspec.CounterName(s.At, eth, name+"_bytes")] = n.Bytes
		}
		return err
	})
	in, _ := h.into(s)
	p.AddRules(driver.Rule{Counter: pathspec.CounterName(s.At, eth, linuxnet.CountEncrypted+"_bytes"), Expect: in},
		driver.Rule{Counter: pathspec.CounterName(s.At, eth, linuxnet.CountDecrypted+"_bytes"), Expect: driver.NoTraffic})
	return nil
}

// counts names what tells of a switch, where the kernel does not tunnel.
func (p *path) counts() string {
	if p.process {
		return "ovs-vswitchd"
	}
	return "ovs:" + eth
}

// switched reads the account of the switch's port towards the other host, where that is
// the underlay: the kernel's own count, as it is when it is read.
func (p *path) switched(h hosts, s *side) {
	received, sent := pathspec.CounterName(s.At, p.counts(), "rx_bytes"), pathspec.CounterName(s.At, p.counts(), "tx_bytes")
	p.AddReader(func(ctx context.Context, into driver.Counters) error {
		ports, err := s.ports(ctx, inside)
		if err != nil {
			return err
		}
		t, ok := ports[eth]
		if !ok {
			return fmt.Errorf("the switch of host %s has no port %s any more", s.At, eth)
		}
		into[received], into[sent] = t.rx, t.tx
		return nil
	})
	in, out := h.into(s)
	p.AddRules(driver.Rule{Counter: received, Expect: in}, driver.Rule{Counter: sent, Expect: out})
}
