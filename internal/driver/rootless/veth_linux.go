package rootless

import (
	"net/netip"

	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// side is the host of the sandboxes, and the other.
type side struct {
	out         bool   // the clients are in the sandboxes
	role        string // client or server
	place       pathspec.Place
	host, other *lab.Host
	net         lab.Net
}

// eth is the sandbox's device without the program.
const eth = "eth0"

// route makes the host a router for its sandboxes, which the other host reaches by their own
// addresses.
func (p *path) route(s side) error {
	if err := p.OnLab.EnableForwarding(s.host.NS); err != nil {
		return err
	}
	return s.other.NS.Routes().Route(p.OnLab.Addresses(s.net, 0)[0].Masked(), s.host.Addr[0], "")
}

// behindVeth creates the sandbox of a pair with a veth to its host. It has IPv4 alone, as
// with a program.
func (p *path) behindVeth(s side, pair int) (endpoint, error) {
	name, veth := lab.PairName(s.role, pair), lab.VethName(pair-1)
	ns, err := p.Sandbox(s.place.At, name)
	if err != nil {
		return endpoint{}, err
	}
	e := endpoint{at: labdriver.NamespacePlace(ns, s.place.At, s.place.At+"/"+name), space: ns, port: pathspec.ServerChoosesPort}
	e.address = p.OnLab.Addresses(s.net, 1+pair)[0].Addr()
	e.public = e.address
	err = p.OnLab.ConnectRouted(lab.Routed{Connect: (*linuxnet.Links).Veth, Router: s.host.NS, Sandbox: ns, Port: veth, Device: eth, MTU: p.mtu,
		Own: []netip.Addr{e.address}, Gateway: lab.PrefixAddrs(p.OnLab.Addresses(s.net, 1)[:1])})
	p.mustCarry(pair, s.place, veth, pathspec.Direction(!s.out))
	p.mustRest(e.at)
	e.steps = []pathspec.Step{pathspec.PerPair(pathspec.DeviceStep(s.place, device(veth))), pathspec.PerPair(pathspec.DeviceStep(e.at, device(eth))), pathspec.ProcessStep(e.at)}
	return e, err
}
