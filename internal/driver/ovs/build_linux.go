package ovs

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/vswitch"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// The names of devices and ports.
const (
	eth      = lab.Underlay // the hosts' underlay and the sandboxes' device
	lo       = "lo"
	physical = "br-phy" // the bridge of the underlay, if tunnelling is done in userspace
	tunnel   = "tun0"
)

// key is the tunnel's network identifier; a lab has only one.
const key = 77

// side is one host with its switch.
type side struct {
	pathspec.Place
	host *lab.Host
	vswitch.Switch
}

// sandbox is a sandbox with its addresses.
type sandbox struct {
	pathspec.Place
	ns  *linuxnet.NS
	own []netip.Prefix
}

func (p *hosts) peerOf(s *side) *side {
	if s == p.near {
		return p.far
	}
	return p.near
}

// hosts are both sides, the client's first.
type hosts struct{ near, far *side }

func (p *path) build(ctx context.Context, progs vswitch.Programs) error {
	h := hosts{sideOf(p.OnLab.A, progs), sideOf(p.OnLab.B, progs)}
	p.sides = []*side{h.near, h.far}
	for _, s := range p.sides {
		if err := s.Start(ctx, s.At, p.OnLab.Spec.Claim.ID, s.host.NS, p.AddProcess); err != nil {
			return err
		}
		if p.logical && s == h.near {
			if err := p.startCentral(ctx, s); err != nil {
				return err
			}
		}
		if err := p.bridges(ctx, s, h.peerOf(s)); err != nil {
			return fmt.Errorf("configure Open vSwitch on host %s: %w", s.At, err)
		}
	}
	if err := p.proof(h); err != nil {
		return err
	}
	datapath := "kernel"
	if p.process {
		datapath = vswitch.UserspaceFact
		p.AddFact("checksum offload of the sandboxes", "off: ovs-vswitchd does not forward packets with partial checksums")
	}
	p.AddDeciding("datapath", datapath)
	if err := p.pairs(ctx, h); err != nil {
		return err
	}
	if p.logical {
		if err := p.applyLogical(ctx, h.far); err != nil {
			return err
		}
	}
	return p.CheckReachable(ctx, "the switches")
}

// pairs connects the endpoints of all pairs to the switches.
func (p *path) pairs(ctx context.Context, h hosts) error {
	return p.ForEachPair(func(pair int) error {
		client, err := p.addSandbox(ctx, h.near, "client", pair, 2*pair)
		if err != nil {
			return err
		}
		server, err := p.addSandbox(ctx, h.far, "server", pair, 2*pair+1)
		if err != nil {
			return err
		}
		p.AddPairNamespaces(client.ns, server.ns)
		p.AddPair(labdriver.NamespaceEndpoint(client.Place, client.ns), labdriver.NamespaceEndpoint(server.Place, server.ns), lab.PrefixAddrs(server.own), lab.PrefixAddrs(server.own), pathspec.ServerChoosesPort)
		p.MustCarry(pair, h.near.Place, pathspec.Device{Name: lab.VethName(pair - 1)}, pathspec.Receives)
		p.MustCarry(pair, h.far.Place, pathspec.Device{Name: lab.VethName(pair - 1)}, pathspec.Transmits)
		if pair == 1 {
			p.setSteps(h, client, server)
		}
		return nil
	})
}

func sideOf(h *lab.Host, progs vswitch.Programs) *side {
	return &side{Place: labdriver.NamespacePlace(h.NS, h.Name, h.Name), host: h, Switch: vswitch.Switch{Programs: progs}}
}

// bridges sets up one switch: without a tunnel, a bridge with the underlay as a port; with
// a tunnel, a bridge with the tunnel as a port. In userspace the tunnel's packets leave
// through a second bridge, which has the underlay as a port and the host's address:
// ovs-vswitchd looks up the route in its own tables.
func (p *path) bridges(ctx context.Context, s, other *side) error {
	if p.encapsulation == flat {
		if err := s.Set(ctx, vswitch.Bridge(vswitch.Inside, p.datapath(), "--", "add-port", vswitch.Inside, eth)...); err != nil {
			return err
		}
		return p.ignoreIngress(s, eth)
	}
	if p.process {
		mac, err := s.host.NS.Links().HardwareAddr(eth)
		if err != nil {
			return err
		}
		if err := s.Set(ctx, vswitch.Bridge(physical, p.datapath(), "other-config:hwaddr="+mac.String(), "--", "add-port", physical, eth)...); err != nil {
			return err
		}
		if err := p.moveAddresses(s); err != nil {
			return err
		}
	}
	if p.logical {
		return p.joinLogical(ctx, s)
	}
	return s.Set(ctx, vswitch.Bridge(vswitch.Inside, p.datapath(), "--", "add-port", vswitch.Inside, tunnel, "--", "set", "interface", tunnel, "type="+strings.TrimPrefix(p.encapsulation, "ovs/"),
		"options:local_ip="+s.host.Addr[0].String(), "options:remote_ip="+other.host.Addr[0].String(), "options:key="+strconv.Itoa(key))...)
}

// datapath is the type of the bridges' datapath.
func (p *path) datapath() string {
	if p.process {
		return vswitch.Userspace
	}
	return "system"
}

// moveAddresses moves the host's addresses from the underlay device to the bridge that has it as a
// port, as Open vSwitch requires (its userspace tunnelling guide).
func (p *path) moveAddresses(s *side) error {
	n := 1
	if s.host == p.OnLab.B {
		n = 2
	}
	for _, a := range p.OnLab.Addresses(lab.NetUnderlay, n) {
		if err := s.host.NS.Routes().RemoveAddress(eth, a); err != nil {
			return err
		}
		if err := s.host.NS.Routes().Address(physical, a); err != nil {
			return err
		}
	}
	if err := s.host.NS.Links().SetMTU(physical, p.OnLab.Spec.MTU); err != nil {
		return err
	}
	if err := s.host.NS.Links().Up(physical); err != nil {
		return err
	}
	return p.ignoreIngress(s, eth)
}

// ignoreIngress hides the frames of a port from the kernel's own stack: a packet socket gets a copy,
// and the stack would answer packets that are not for it.
func (p *path) ignoreIngress(s *side, dev string) error {
	if !p.process {
		return nil
	}
	return s.host.NS.Rules().DropIngress(vswitch.Table, dev)
}

// addSandbox creates a sandbox with a port on a side's switch.
func (p *path) addSandbox(ctx context.Context, s *side, role string, pair, number int) (sandbox, error) {
	if pair > 1 {
		role += strconv.Itoa(pair)
	}
	ns, err := p.Sandbox(s.At, role)
	if err != nil {
		return sandbox{}, err
	}
	if p.encapsulation == flat {
		number += firstOnUnderlay
	}
	b := sandbox{labdriver.NamespacePlace(ns, s.At, s.At+"/"+role), ns, p.OnLab.Addresses(p.net(s), number)}
	port := lab.VethName(pair - 1)
	if err := s.host.NS.Links().Veth(p.OnLab.Device(port, p.mtu), ns, p.OnLab.Device(eth, p.mtu)); err != nil {
		return b, err
	}
	if err := p.OnLab.SetUpDevice(s.host.NS, port); err != nil {
		return b, err
	}
	if p.process {
		if err := vswitch.Attach(s.host.NS, port, ns, eth); err != nil {
			return b, err
		}
	}
	if err := p.OnLab.SetUpDevice(ns, eth); err != nil {
		return b, err
	}
	for _, a := range b.own {
		if err := ns.Routes().Address(eth, a); err != nil {
			return b, err
		}
	}
	if p.logical {
		return b, p.attach(ctx, s, b, port)
	}
	return b, s.Set(ctx, "add-port", vswitch.Inside, port)
}

// net returns the subnet of a side's sandboxes.
func (p *path) net(s *side) lab.Net {
	switch {
	case p.encapsulation == flat:
		return lab.NetUnderlay
	case !p.logical:
		return lab.NetOverlay
	case s.At == lab.SideA:
		return lab.NetA
	}
	return lab.NetB
}

// subnets returns the prefixes of all sandboxes by address family.
func (p *path) subnets() (all []netip.Prefix) {
	for _, s := range p.sides {
		for _, a := range p.OnLab.Addresses(p.net(s), 0) {
			if !slices.Contains(all, a.Masked()) {
				all = append(all, a.Masked())
			}
		}
	}
	return all
}

// firstOnUnderlay is after the hosts' own numbers on the underlay's subnet.
const firstOnUnderlay = 9

// setSteps sets the steps.
func (p *path) setSteps(h hosts, client, server sandbox) {
	dev := func(at pathspec.Place, name string) pathspec.Step {
		return pathspec.DeviceStep(at, pathspec.Device{Name: name})
	}
	crossing := func(s *side) []pathspec.Step {
		if device := p.kernelDevice(); device != "" {
			return []pathspec.Step{pathspec.RuleStep(s.Place, "switch", "Open vSwitch"), dev(s.Place, device), dev(s.Place, eth)}
		}
		label := "Open vSwitch"
		if p.logical {
			label = "OVN"
		}
		if p.encapsulation != flat {
			label += ", " + strings.TrimPrefix(p.encapsulation, "ovs/")
		}
		return []pathspec.Step{pathspec.ProvenBy(pathspec.RuleStep(s.Place, "switch", label), s.At+"/"+p.switchCounterName()), dev(s.Place, eth)}
	}
	back := crossing(h.far)
	slices.Reverse(back)
	p.SetSteps(slices.Concat(
		[]pathspec.Step{pathspec.ProcessStep(client.Place), pathspec.PerPair(dev(client.Place, eth)), pathspec.PerPair(dev(h.near.Place, lab.VethName(0)))},
		crossing(h.near), back,
		[]pathspec.Step{pathspec.PerPair(dev(h.far.Place, lab.VethName(0))), pathspec.PerPair(dev(server.Place, eth)), pathspec.ProcessStep(server.Place)},
	)...)
}
