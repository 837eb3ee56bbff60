package incus

import (
	"context"
	"net/http"
	"net/netip"
	"os"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/bridged"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/vswitch"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// ovnNetwork is the network of the containers. Its router has an address in the subnet of Incus's bridge, beside the one at which a network
// forward leads to the containers.
const (
	ovnNetwork    = "tare"
	routerNumber  = 2
	forwardNumber = 3
)

// The bridge that Incus makes for its first network's connection to OVN, and the ends of the veth pair between both, that of the network first.
const (
	provider    = "incusovn1"
	networkEnd  = "incusovn1a"
	providerEnd = "incusovn1b"
)

// forwardPort is a port of a network forward, as Incus's API has it.
type forwardPort struct {
	Protocol string `json:"protocol"`
	Listen   string `json:"listen_port"`
	Target   string `json:"target_port"`
	To       string `json:"target_address"`
}

// logical is what a network of OVN needs: a private Open vSwitch and OVN of host b, which Incus configures.
type logical struct {
	sw      vswitch.Switch
	central vswitch.Central
}

// findLogical finds the programs of Open vSwitch and OVN, and what they need of the machine.
func findLogical(ctx context.Context) (*logical, error) {
	l := &logical{}
	for _, find := range []func(context.Context) error{l.sw.Find, l.central.Find} {
		if err := find(ctx); err != nil {
			return nil, err
		}
	}
	return l, linuxnet.CheckTUN()
}

// networks are what Incus is given besides its bridge: where OVN is, and a network of OVN whose packets leave through the bridge.
func (l *logical) networks(p *path) (config settings, own network) {
	config = settings{"network.ovn.northbound_connection": "unix:" + l.central.Socket(), "network.ovs.connection": "unix:" + l.sw.Socket()}
	return config, network{Name: ovnNetwork, Type: "ovn", Config: settings{
		"network": bridge, "ipv4.address": p.inOVN(1).String(), "ipv4.nat": "true", "ipv6.address": "none", "bridge.mtu": strconv.Itoa(p.OnLab.Spec.MTU),
	}}
}

// inOVN is an address of the network of OVN with its subnet: of its router, and then of the containers.
func (p *path) inOVN(number int) netip.Prefix { return p.OnLab.Addresses(lab.NetOverlay, number)[0] }

// start starts the switch and OVN on a host, with the bridge that Incus would make for the kernel's datapath.
func (l *logical) start(ctx context.Context, p *path, s *bridged.Side) error {
	run, ns := p.OnLab.Spec.Claim.ID, s.Host.NS
	dir, err := lab.MkdirTemp(run, "ovn") // Incus's processes do not have this machine's /proc
	if err != nil {
		return err
	}
	p.AtClose(func() error { return os.RemoveAll(dir) })
	l.sw.Sockets, l.central.Sockets = dir, dir
	if err := l.sw.Start(ctx, s.At, run, ns, p.AddProcess); err != nil {
		return err
	}
	if err := l.central.Start(ctx, l.sw.Programs, s.At, run, ns, p.AddProcess); err != nil {
		return err
	}
	if err := l.central.Join(ctx, &l.sw, s.At, run, ns, s.Host.Addr[0].String(), p.AddProcess); err != nil {
		return err
	}
	return l.sw.Set(ctx, vswitch.Bridge(provider, vswitch.Userspace)...)
}

// buildLogical starts the servers' containers on a network of OVN. The client dials the address of a network forward, which no device has: OVN's
// router translates it.
func (p *path) buildLogical(ctx context.Context) error {
	a, b := p.Sides()
	eth, lo := pathspec.Device{Name: lab.Underlay}, pathspec.Device{Name: "lo"}
	p.AddDeciding("OVN", p.ovn.central.String())
	p.AddDeciding("Open vSwitch", p.ovn.sw.String())
	p.AddFact("datapath", vswitch.UserspaceFact)
	if err := p.ovn.start(ctx, p, b); err != nil {
		return err
	}
	on, err := p.server(ctx, b)
	if err != nil {
		return err
	}
	if err := vswitch.Attach(b.Host.NS, providerEnd, b.Host.NS, networkEnd); err != nil {
		return err
	}
	forward := p.OnLab.Addresses(lab.NetB, forwardNumber)[0].Addr()
	if err := a.Host.NS.Routes().Route(p.Gateway(b).Masked(), b.Host.Addr[0], lab.Underlay); err != nil {
		return err
	}
	p.MustCarry(pathspec.AllPairs, a.Place, eth, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, b.Place, eth, pathspec.Receives)
	for _, device := range []string{bridge, networkEnd} {
		p.MustCarry(pathspec.AllPairs, b.Place, pathspec.Device{Name: device}, pathspec.Transmits)
	}
	p.MustBeIdle(a.Place, lo)
	p.MustBeIdle(b.Place, lo)
	busy := pathspec.CounterName(b.At, "ovs-vswitchd", "run_ns")
	if err := p.MustBeBusy(p.ovn.sw.Daemon, driver.Rule{Counter: busy}); err != nil {
		return err
	}
	var ports []forwardPort
	err = p.ForEachPair(func(pair int) error {
		ns, err := p.connect(ctx, b, pair)
		if err != nil {
			return err
		}
		name, published, own := lab.PairName(b.Role, pair), p.Published(b, pair).Port, p.inOVN(1+pair).Addr()
		port, err := ns.Links().PeerIn(b.Host.NS, lab.Underlay)
		if err != nil {
			return err
		}
		if err := vswitch.Attach(b.Host.NS, port, ns, lab.Underlay); err != nil {
			return err
		}
		for _, protocol := range []string{"tcp", "udp"} {
			ports = append(ports, forwardPort{protocol, strconv.Itoa(int(published)), strconv.Itoa(pathspec.FirstPort), own.String()})
		}
		at, veth := labdriver.NamespacePlace(ns, b.At, b.At+"/"+name), pathspec.Device{Name: port, Role: name + ".veth"}
		p.AddPairNamespaces(a.Host.NS, ns)
		p.AddPairPorts(labdriver.NamespaceEndpoint(a.Place, a.Host.NS), labdriver.NamespaceEndpoint(at, ns),
			[]netip.AddrPort{netip.AddrPortFrom(own, pathspec.FirstPort)}, []netip.AddrPort{netip.AddrPortFrom(forward, published)})
		p.MustCarry(pair, b.Place, veth, pathspec.Transmits)
		p.MustCarry(pair, at, eth, pathspec.Receives)
		if pair == 1 {
			p.SetSteps(pathspec.ProcessStep(a.Place), pathspec.DeviceStep(a.Place, eth), pathspec.DeviceStep(b.Place, eth), pathspec.DeviceStep(b.Place, pathspec.Device{Name: bridge}),
				pathspec.DeviceStep(b.Place, pathspec.Device{Name: networkEnd}), pathspec.ProvenBy(pathspec.RuleStep(b.Place, "switch", "OVN"), b.At+"/ovs-vswitchd"),
				pathspec.PerPair(pathspec.DeviceStep(b.Place, veth)), pathspec.PerPair(pathspec.DeviceStep(at, eth)), pathspec.ProcessStep(at))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := on.call(ctx, http.MethodPost, "/1.0/networks/"+ovnNetwork+"/forwards", map[string]any{"listen_address": forward.String(), "ports": ports}, nil); err != nil {
		return err
	}
	return p.ovn.central.Applied(ctx)
}
