package cni

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// path is a mode that is set up.
type path struct {
	labdriver.Path
	kind   string // the mode without its parameter
	id     string // of the mode in names of sandboxes
	client *side
	server *side
	routed map[*side][]string // routes that were added for want of the plugins' own
	within time.Duration      // for datagrams to cross it; 0 is crossTimeout
	known  map[string]bool    // plugins that have a fact
	// seen are the devices of each host that were there before the plugins, or are known.
	seen map[*linuxnet.NS][]string
}

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("cni", o.Mode)
	if err != nil {
		return nil, err
	}
	kind, name := row.Build, strings.TrimPrefix(o.Mode, row.Build+":")
	if err := check(kind, name, o); err != nil {
		return nil, err
	}
	base, err := labdriver.Up(o, "the process that executes the plugins")
	if err != nil {
		return nil, err
	}
	p := &path{
		Path: base,
		kind: kind, id: idOf(o.Lab.Label), within: d.within, routed: map[*side][]string{}, known: map[string]bool{}, seen: map[*linuxnet.NS][]string{},
	}
	p.AtClose(p.detach)
	var dirs []string
	if dirs, err = d.pluginDirs(o.Options); err == nil {
		err = p.read(d, name, dirs, o.Options)
	}
	if err == nil {
		err = p.build(ctx, cmp.Or(d.limit, timelimit.Scaled(pluginTimeout)), dirs, o.Options[optionFlannel])
	}
	if err == nil {
		return p.DriverPath(driver.Path{FlushConnections: p.flushConnections, Probe: remote.EndpointProbe(&p.Path.Path, "`mtu` of the plugin in the conflist")}, p), nil
	}
	return nil, p.Failed(ctx, err)
}

// check returns what is wrong with a specification.
func check(kind, name string, o labdriver.Order) error {
	if name == "NAME" {
		return &driver.Unsupported{Mode: o.Mode, Reason: "replace NAME with a network or the path of a conflist, as in " + kind + ":bridge"}
	}
	options := []string{optionPlugins, optionOther, optionFlannel}
	for key := range o.Options {
		if !slices.Contains(options, key) {
			return fmt.Errorf("provision %s: unknown option %s; use %s", o.Mode, key, strings.Join(options, ", "))
		}
	}
	return o.CheckOneMachine("plugins choose names and hardware addresses")
}

// idOf returns a part of the names of sandboxes that distinguishes the modes of a run.
func idOf(label string) string {
	const longest = 40
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '.'
	}, label)
	return id[max(0, len(id)-longest):]
}

// read reads the conflist of each host.
func (p *path) read(d Driver, name string, dirs []string, options map[string]string) error {
	p.client = p.side(p.OnLab.A, "client", lab.NetA)
	p.server = p.side(p.OnLab.B, "server", lab.NetB)
	if p.kind == colocated {
		p.server = p.side(p.OnLab.A, "server", lab.NetA)
	}
	for _, s := range p.withPlugins() {
		var err error
		if p.seen[s.ns], err = s.ns.Links().Devices(); err != nil {
			return err
		}
		source := name
		if s.host == p.OnLab.B {
			source = cmp.Or(options[optionOther], name)
		}
		c, err := d.load(source, p.values(s))
		if err != nil {
			return err
		}
		s.conflist = c
		if p.kind == published && !c.has("portMappings") {
			return fmt.Errorf(`no plugin of the CNI configuration %s declares the capability portMappings, so no port can be published; add {"type": "portmap", "capabilities": {"portMappings": true}}`, c.source)
		}
		if err := c.missing(dirs); err != nil {
			return &driver.Unsupported{Mode: p.Mode, Reason: err.Error()}
		}
		if s.role == "client" || p.kind == published || options[optionOther] != "" && p.kind == network {
			p.AddDeciding("CNI configuration of host "+s.At, c.source+", SHA-256 "+c.sum)
		}
	}
	return nil
}

func (p *path) side(h *lab.Host, role string, net lab.Net) *side {
	s := &side{Place: labdriver.NamespacePlace(h.NS, h.Name, h.Name), host: h, ns: h.NS, role: role}
	for _, a := range p.OnLab.Addresses(net, 0) {
		s.subnets = append(s.subnets, a.Masked())
	}
	return s
}

// withPlugins returns the sides whose endpoints plugins connect.
func (p *path) withPlugins() []*side {
	if p.kind == published {
		return []*side{p.server}
	}
	return []*side{p.client, p.server}
}

// The numbers on the underlay of each host's own range of addresses: room for MaxPairs pairs.
const (
	firstOfA = 11
	firstOfB = 111
)

// values are those of the placeholders on a side's host.
func (p *path) values(s *side) values {
	v := values{Host: s.At, Device: lab.Underlay, MTU: p.OnLab.Spec.MTU, PodCIDR: s.subnets[0].String()}
	first := firstOfA
	if s.host == p.OnLab.B {
		first = firstOfB
	}
	from, to := p.OnLab.Addresses(lab.NetUnderlay, first), p.OnLab.Addresses(lab.NetUnderlay, first+driver.MaxPairs-1)
	for i, n := range s.subnets {
		v.PodCIDRRanges = append(v.PodCIDRRanges, n.String())
		all := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if n.Addr().Is6() {
			all = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		v.Routes = append(v.Routes, all.String())
		v.Underlay = append(v.Underlay, span{from[i].Masked().String(), from[i].Addr().String(), to[i].Addr().String()})
	}
	return v
}

// build connects all endpoints, and then finds out by datagrams which way they take.
func (p *path) build(ctx context.Context, limit time.Duration, dirs []string, backend string) error {
	files, err := p.subnetFiles(ctx, backend)
	if err != nil {
		return err
	}
	for _, s := range p.withPlugins() {
		if err := p.OnLab.EnableForwarding(s.ns); err != nil {
			return err
		}
		if p.kind == colocated && s == p.server {
			s.plugins = p.client.plugins
			continue
		}
		open := request{Op: opOpen, Conflist: s.conflist.text, Dirs: dirs, State: s.conflist.stateDirs(), Files: files[s.host], Limit: limit}
		if err := p.start(s, open); err != nil {
			return err
		}
	}
	err = p.ForEachPair(func(pair int) error {
		for _, s := range []*side{p.client, p.server} {
			e := end{Place: s.Place, ns: s.ns, addrs: prefixesOf(s.host.Addr)}
			if slices.Contains(p.withPlugins(), s) {
				var err error
				if e, err = p.attach(ctx, s, pair); err != nil {
					return err
				}
			}
			s.ends = append(s.ends, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.kind == network {
		if err := errors.Join(p.route(p.client, p.server), p.route(p.server, p.client)); err != nil {
			return err
		}
	}
	if err := p.addPairs(); err != nil {
		return err
	}
	return p.prove(ctx)
}

func prefixesOf(addrs []netip.Addr) (out []netip.Prefix) {
	for _, a := range addrs {
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out
}

// route adds the routes to the endpoints of the other side that neither the plugins nor the lab
// provide, through the other host.
func (p *path) route(s, other *side) error {
	for _, e := range other.ends {
		for _, a := range e.addrs {
			_, err := s.ns.Routes().Toward(a.Addr())
			if err == nil {
				continue
			}
			if !errors.Is(err, unix.ENETUNREACH) {
				return err
			}
			via := other.host.Addr[familyOf(a.Addr())]
			if err := s.ns.Routes().Route(a.Masked(), via, ""); err != nil {
				return err
			}
			p.routed[s] = append(p.routed[s], a.Masked().String()+" via "+via.String())
		}
	}
	return nil
}

// familyOf is the index of an address's family in the lists of a lab: IPv4 first.
func familyOf(a netip.Addr) int {
	if a.Is6() {
		return 1
	}
	return 0
}

// addPairs adds the pairs, in the address families that both endpoints have.
func (p *path) addPairs() error {
	for i, server := range p.server.ends {
		client := p.client.ends[i]
		var listen, dial []netip.AddrPort
		noRoute := errors.New("they have no address family in common")
		for _, a := range server.addresses() {
			if !slices.ContainsFunc(client.addrs, func(own netip.Prefix) bool { return familyOf(own.Addr()) == familyOf(a) }) {
				continue
			}
			to := netip.AddrPortFrom(a, pathspec.ServerChoosesPort)
			at := to
			if p.kind == published {
				at, to = netip.AddrPortFrom(a, pathspec.FirstPort), netip.AddrPortFrom(p.OnLab.B.Addr[familyOf(a)], hostPort(i+1))
			} else if slices.Contains(client.addresses(), a) {
				return fmt.Errorf("the plugins of %s gave %s to both %s and %s; give each host its own addresses, with {{.PodCIDR}} in the conflist, with the capability ipRanges, or with the option %s", p.server.conflist.source, a, client.At, server.At, optionOther)
			}
			if _, err := client.ns.Routes().Toward(to.Addr()); err != nil {
				noRoute = fmt.Errorf("%w; let the plugins set up a route, as with routes in ipam", err)
				continue
			}
			listen, dial = append(listen, at), append(dial, to)
		}
		if len(dial) == 0 {
			return fmt.Errorf("%s with %v cannot send to %s with %v: %w", client.At, client.addresses(), server.At, server.addresses(), noRoute)
		}
		p.AddPairNamespaces(client.ns, server.ns)
		p.AddPairPorts(labdriver.NamespaceEndpoint(client.Place, client.ns), labdriver.NamespaceEndpoint(server.Place, server.ns), listen, dial)
	}
	return nil
}

// plugin adds a fact about a plugin: its path, followed by how it describes itself.
func (p *path) plugin(text string) {
	file, _, _ := strings.Cut(text, " ")
	name := filepath.Base(file)
	if !p.known[name] {
		p.known[name] = true
		p.AddDeciding("CNI plugin "+name, text)
	}
}

// flushConnections removes the tracked connections of the hosts.
func (p *path) flushConnections(context.Context) error {
	return errors.Join(p.OnLab.A.NS.Rules().FlushConntrack(), p.OnLab.B.NS.Rules().FlushConntrack())
}

// detach lets the plugins disconnect all endpoints.
func (p *path) detach() error {
	var errs []error
	for _, s := range []*side{p.server, p.client} {
		if s != nil {
			errs = append(errs, s.detach())
		}
	}
	return errors.Join(errs...)
}

// isUnsupported reports whether an error is the kernel's answer that it lacks something.
func isUnsupported(err error) bool {
	return strings.Contains(err.Error(), unix.EOPNOTSUPP.Error())
}
