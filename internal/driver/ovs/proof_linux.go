package ovs

import (
	"context"
	"fmt"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/vswitch"
	"tare/internal/linuxnet"
)

// port returns the UDP port of the tunnel (RFC 7348 section 8.1, RFC 8926 section 3.3).
func (p *path) port() uint16 {
	if p.encapsulation == geneve {
		return 6081
	}
	return 4789
}

// kernelDevice returns the tunnel device of the kernel datapath, empty if there is none.
// The module creates and names it, one device for all tunnels with the same type and port
// (dpif_port in lib/netdev-vport.c).
func (p *path) kernelDevice() string {
	switch {
	case p.process || p.encapsulation == flat:
		return ""
	case p.encapsulation == geneve:
		return "genev_sys_" + strconv.Itoa(int(p.port()))
	}
	return "vxlan_sys_" + strconv.Itoa(int(p.port()))
}

// proof adds the rules: the underlay must carry the traffic; with a tunnel, it must carry
// tunnel packets and no inner packets; and the switch must have forwarded them, by the
// kernel's counters of the tunnel device, the switch's port counters, or the CPU time of
// ovs-vswitchd.
func (p *path) proof(h hosts) error {
	p.MustCarry(pathspec.AllPairs, h.near.Place, pathspec.Device{Name: eth}, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, h.far.Place, pathspec.Device{Name: eth}, pathspec.Receives)
	for _, s := range []*side{h.near, h.far} {
		p.MustBeIdle(s.Place, pathspec.Device{Name: lo})
		p.MustBeIdle(s.Place, pathspec.Device{Name: vswitch.Inside})
		if p.encapsulation != flat {
			if err := p.countIngress(h, s); err != nil {
				return err
			}
		}
		if p.process {
			if err := p.MustBeBusy(s.Daemon, driver.Rule{Counter: pathspec.CounterName(s.At, p.switchCounterName(), "run_ns")}); err != nil {
				return err
			}
		} else if p.encapsulation == flat {
			p.readSwitchPort(h, s)
		}
	}
	if device := p.kernelDevice(); device != "" {
		p.MustCarry(pathspec.AllPairs, h.near.Place, pathspec.Device{Name: device}, pathspec.Transmits)
		p.MustCarry(pathspec.AllPairs, h.far.Place, pathspec.Device{Name: device}, pathspec.Receives)
	}
	return nil
}

// expectations returns the direction of the traffic that arrives at a side, and that of the traffic
// that leaves it.
func (h hosts) expectations(s *side) (in, out driver.Expect) {
	if s == h.far {
		return driver.Forward, driver.Reverse
	}
	return driver.Reverse, driver.Forward
}

// countIngress counts the tunnel's packets as received from the underlay.
func (p *path) countIngress(h hosts, s *side) error {
	if err := s.host.NS.Rules().CountTunnelIngress(vswitch.Table, eth, linuxnet.TunnelIngress{Port: p.port(), Inside: p.subnets()}); err != nil {
		return err
	}
	p.ReadIngress(s.Place, s.host.NS, vswitch.Table, eth)
	in, _ := h.expectations(s)
	p.AddRules(driver.Rule{Counter: pathspec.CounterName(s.At, eth, linuxnet.CountEncrypted+"_bytes"), Expect: in},
		driver.Rule{Counter: pathspec.CounterName(s.At, eth, linuxnet.CountDecrypted+"_bytes"), Expect: driver.NoTraffic})
	return nil
}

// switchCounterName returns the object that the switch's counters belong to if the kernel does not
// tunnel.
func (p *path) switchCounterName() string {
	if p.process {
		return "ovs-vswitchd"
	}
	return "ovs:" + eth
}

// readSwitchPort reads the counters of the switch's port towards the other host if that is the
// underlay; they are the kernel's current counters.
func (p *path) readSwitchPort(h hosts, s *side) {
	received, sent := pathspec.CounterName(s.At, p.switchCounterName(), "rx_bytes"), pathspec.CounterName(s.At, p.switchCounterName(), "tx_bytes")
	p.AddReader(func(ctx context.Context, into driver.Counters) error {
		ports, err := s.Ports(ctx, vswitch.Inside)
		if err != nil {
			return err
		}
		t, ok := ports[eth]
		if !ok {
			return fmt.Errorf("the Open vSwitch on host %s no longer has port %s", s.At, eth)
		}
		into[received], into[sent] = t.RX, t.TX
		return nil
	})
	in, out := h.expectations(s)
	p.AddRules(driver.Rule{Counter: received, Expect: in}, driver.Rule{Counter: sent, Expect: out})
}
