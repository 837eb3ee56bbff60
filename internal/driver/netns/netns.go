// Package netns builds network modes from the kernel's own parts: each is the data path
// that Docker builds under that name, created with netlink and nftables, without an engine.
package netns

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/setting"
	"tare/internal/lab"
	"tare/internal/study"
)

// The two baselines.
const (
	Host      = "host"
	HostLocal = "host-local"
)

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// recipe is what a mode is built from. On systems other than Linux it is not used.
type recipe struct {
	build func(*path) error
	// oneSubnet means that clients and servers share a subnet, which has addresses for driver.MaxPairs pairs.
	oneSubnet bool
	// needs is what the mode requires of the kernel beyond namespaces and veth.
	needs string
	// mtu returns the MTU of the sandboxes' devices, and may change that of the lab; nil for that of the lab.
	mtu func(*labdriver.Order, labdriver.PartSet) (int, error)
}

// needsNAT is what the rules of an engine require.
const needsNAT = "bridge, nftables with inet NAT, conntrack (CONFIG_BRIDGE, CONFIG_NF_TABLES_INET, CONFIG_NFT_NAT, CONFIG_NFT_MASQ, CONFIG_NFT_FIB_INET)"

// rows are the modes of this package: a mode is its row here, and what builds it.
func rows() labdriver.Rows[recipe] {
	return labdriver.Rows[recipe]{
		{Mode: driver.Mode{ID: Host, Title: "process on a to process on b", Split: driver.SplitNever, Detour: "a/eth0.tx_bytes", Events: labdriver.SecondLinkEvents()},
			Build: recipe{build: crossing{}.build}},
		{Mode: driver.Mode{ID: HostLocal, Title: "two processes on a, through the address of a", Split: driver.SplitNever},
			Build: recipe{build: hostLocal}},
		{Mode: driver.Mode{ID: "netns/published", Title: "raw client, server behind a bridge and a published port", Baseline: Host, Like: "docker/published", Explains: true,
			Parts: engineParts("the server"), Own: ruleSettings(), Events: append(labdriver.SecondLinkEvents(), study.EndpointReplaced)},
			Build: recipe{build: crossing{}.build, needs: needsNAT}},
		{Mode: driver.Mode{ID: "netns/bridge", Title: "both endpoints behind bridges, masqueraded and published", Baseline: Host, Like: "docker/bridge", Explains: true,
			Parts: engineParts("each endpoint"), Own: ruleSettings(), Events: labdriver.SecondLinkEvents()},
			Build: recipe{build: crossing{clients: true}.build, needs: needsNAT}},
		{Mode: driver.Mode{ID: "netns/ptp", Title: "both endpoints on veth devices of their host, routed without a bridge or address translation", Baseline: Host,
			Parts: []driver.Part{namespacePart("each endpoint")}, Detour: "a/veth0.rx_bytes"},
			Build: recipe{build: crossing{clients: true}.build}},
		{Mode: driver.Mode{ID: "netns/routed", Title: "both endpoints behind bridges, routed without address translation", Baseline: Host, Like: "docker/routed",
			Parts: []driver.Part{namespacePart("each endpoint"), bridgePart()}, Detour: "a/br0.rx_bytes"},
			Build: recipe{build: crossing{clients: true}.build, needs: "bridge (CONFIG_BRIDGE)"}},
		{Mode: driver.Mode{ID: "netns/colocated", Title: "two sandboxes on one bridge", Baseline: HostLocal, Like: "docker/colocated", Explains: true,
			Parts: colocatedParts(), Split: driver.SplitAlone, Detour: "a/veth0"},
			Build: recipe{build: colocated, oneSubnet: true, needs: "bridge (CONFIG_BRIDGE)", mtu: colocatedMTU}},
		{Mode: driver.Mode{ID: "netns/macvlan", Title: "both endpoints on macvlan devices of the underlay", Baseline: Host, Like: "docker/macvlan", Explains: true,
			Split: driver.SplitOnCard, Detour: "a/eth0.tx_bytes"},
			Build: recipe{build: onUnderlay{kind: "macvlan", besideInSplit: true}.build, oneSubnet: true, needs: "macvlan (CONFIG_MACVLAN)"}},
		{Mode: driver.Mode{ID: "netns/ipvlan", Title: "both endpoints on ipvlan devices of the underlay", Baseline: Host, Like: "docker/ipvlan", Explains: true,
			Split: driver.SplitOnCard, Detour: "a/eth0.tx_bytes"},
			Build: recipe{build: onUnderlay{kind: "ipvlan"}.build, oneSubnet: true, needs: "ipvlan (CONFIG_IPVLAN)"}},
		{Mode: driver.Mode{ID: "netns/vxlan", Title: "both endpoints on bridges joined by a VXLAN tunnel", Baseline: Host, Like: "docker/overlay", Explains: true,
			MTU: true, Headers: driver.VXLANHeaders, Parts: vxlanParts(), Detour: "a/eth0.tx_bytes"},
			Build: recipe{build: vxlan, oneSubnet: true, needs: "bridge and VXLAN (CONFIG_BRIDGE, CONFIG_VXLAN)", mtu: vxlanMTU}},
		{Mode: driver.Mode{ID: "netns/ebpf", Title: "both endpoints behind veths, redirected past the host's IP stack by eBPF programs", Baseline: Host,
			Parts: []driver.Part{namespacePart("each endpoint"), programsPart()}, Detour: "a/eth0.tx_bytes"},
			Build: recipe{build: crossing{clients: true}.build}},
		{Mode: driver.Mode{ID: "netns/netkit", Title: "both endpoints on netkit devices, redirected past the host's IP stack by eBPF programs", Baseline: Host,
			Parts: netkitParts(), Detour: "a/eth0.tx_bytes"},
			Build: recipe{build: crossing{clients: true, netkit: true}.build, needs: "netkit devices (CONFIG_NETKIT, Linux 6.7 or newer)"}},
	}
}

// Modes lists the modes of this package, each with all settings of package setting.
func (Driver) Modes() []driver.Mode {
	modes := rows().Modes()
	for i := range modes {
		modes[i].Settings, modes[i].TimesSetup = setting.Names(), true
	}
	return modes
}

// crossing: clients on a, underlay, servers on b. Each host is a router with the mode's parts between its
// sandboxes and the underlay: a mode without parts is host.
type crossing struct {
	onLinux      //nolint:unused // on other systems it builds
	clients bool // the clients are in sandboxes as the servers are, else processes of a
	netkit  bool // sandboxes have netkit devices in place of veths
}

// overlays: on each host a separate namespace has the bridge and the tunnel device, as with Docker's overlay
// driver; the outer packets are in the host's namespace. All forwarding entries are static; nothing is
// learned. Without the bridge that namespace routes, and without sandboxes the tunnel's device is the host's.
type overlays struct {
	onLinux //nolint:unused // on other systems it builds
}

// vxlan is overlays. Without the tunnel the hosts route.
func vxlan(p *path) error {
	if !p.parts[partTunnel] {
		return crossing{clients: true}.build(p)
	}
	return overlays{}.build(p)
}

// vxlanMTU returns the MTU inside the tunnel: the requested one, or the maximum. Without the
// tunnel or without the part mtu, it changes the underlay's MTU to what the parts require.
func vxlanMTU(o *labdriver.Order, parts labdriver.PartSet) (int, error) {
	underlay := o.Lab.MTU
	if !parts[partMTU] {
		if o.MTU != 0 {
			return 0, &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf("an MTU of %d is requested, and the part %s, which sets it, is off; leave out one of the two", o.MTU, partMTU)}
		}
		if parts[partTunnel] {
			o.Lab.MTU += driver.VXLANHeaders
		}
		return underlay, nil
	}
	most := underlay - driver.VXLANHeaders
	if o.MTU > most {
		return 0, fmt.Errorf("provision %s: the tunnel cannot have an inner MTU of %d: VXLAN adds %d bytes, and the underlay's MTU is %d", o.Mode, o.MTU, driver.VXLANHeaders, underlay)
	}
	inner := cmp.Or(o.MTU, most)
	if !parts[partTunnel] && !parts[partNamespace] {
		o.Lab.MTU = inner // the path has no other devices
	}
	return inner, nil
}

// maxVethMTU is the maximum MTU of a veth and of a bridge, one byte less than that of
// loopback.
const maxVethMTU = 65535

// colocatedMTU returns the MTU of the lab, or without the part mtu the maximum.
func colocatedMTU(o *labdriver.Order, parts labdriver.PartSet) (int, error) {
	if !parts[partMTU] {
		return maxVethMTU, nil
	}
	return o.Lab.MTU, nil
}

// hostLocal: two processes on a, through the address of a. The kernel sends that over
// loopback.
func hostLocal(p *path) error {
	a := p.hostPlace(p.OnLab.A)
	err := p.ForEachPair(func(int) error {
		p.addPair(a, a, p.OnLab.A.Addr, p.OnLab.A.Addr, pathspec.ServerChoosesPort)
		return nil
	})
	p.MustCarryBoth(pathspec.AllPairs, a.Place, pathspec.Device{Name: lo})
	p.mustBeIdle(a, eth)
	p.SetSteps(processStep(a), deviceStep(a, lo), processStep(a))
	return err
}

// colocated: two sandboxes for each pair on one bridge of a. Frames go from port to port;
// the bridge device itself sees them only if they are routed. Without the bridge a routes
// from veth to veth; without sandboxes it is host-local.
func colocated(p *path) error {
	a := p.hostPlace(p.OnLab.A)
	if !p.parts[partNamespace] {
		if p.parts[partMTU] {
			if err := p.setMTU(a, lo); err != nil {
				return err
			}
		}
		return hostLocal(p)
	}
	var bridge []pathspec.Step
	if p.parts[partBridge] {
		if err := p.bridgeAt(a, lab.NetA); err != nil {
			return err
		}
		bridge = append(bridge, deviceStep(a, br))
		p.mustBeIdle(a, br)
	} else if err := p.forwarding(a); err != nil {
		return err
	}
	p.mustBeIdle(a, eth)
	return p.ForEachPair(func(pair int) error {
		out, in := 2*pair-2, 2*pair-1
		client, err := p.addSandbox(a, p.OnLab.A, lab.PairName("client", pair), lab.VethName(out), lab.NetA, 2+out)
		if err != nil {
			return err
		}
		server, err := p.addSandbox(a, p.OnLab.A, lab.PairName("server", pair), lab.VethName(in), lab.NetA, 2+in)
		if err != nil {
			return err
		}
		p.addPair(client.place, server.place, server.own, server.own, pathspec.ServerChoosesPort)
		p.mustCarry(pair, a, lab.VethName(out), pathspec.Receives)
		p.mustCarry(pair, a, lab.VethName(in), pathspec.Transmits)
		if pair == 1 {
			p.SetSteps(slices.Concat(endSteps(client.place, a, lab.VethName(out)), bridge, pathspec.Reversed(endSteps(server.place, a, lab.VethName(in))))...)
		}
		return nil
	})
}

// onUnderlay: a device of each host's underlay link, in a sandbox. In a split lab that link is a macvlan
// device itself, and the kernel attaches a further macvlan device beside it to the machine's network card.
type onUnderlay struct {
	kind          string // as linuxnet.Links.Child has it
	besideInSplit bool   // in a split lab the device is beside the link, not on it
}

// firstOnUnderlay is the first host number of sandboxes on the underlay's subnet.
const firstOnUnderlay = 11

func (m onUnderlay) build(p *path) error {
	beside := m.besideInSplit && p.OnLab.Split()
	sandbox := func(h *lab.Host, name string, number int) (sandboxAddrs, error) {
		in, err := p.sandboxPlace(h, name)
		if err != nil {
			return sandboxAddrs{}, err
		}
		if err := p.child(m.kind, h, in); err != nil {
			return sandboxAddrs{}, err
		}
		own := p.OnLab.Addresses(lab.NetUnderlay, number)
		return sandboxAddrs{in, lab.PrefixAddrs(own)}, p.setUpSandbox(in, own)
	}
	var link []pathspec.Step
	if beside {
		p.mustNotSend(p.OnLab.A, p.OnLab.B)
	} else {
		p.underlay()
		link = []pathspec.Step{deviceStep(p.hostPlace(p.OnLab.A), eth), deviceStep(p.hostPlace(p.OnLab.B), eth)}
	}
	return p.ForEachPair(func(pair int) error {
		number := firstOnUnderlay + 2*(pair-1)
		client, err := sandbox(p.OnLab.A, lab.PairName("client", pair), number)
		if err != nil {
			return err
		}
		server, err := sandbox(p.OnLab.B, lab.PairName("server", pair), number+1)
		if err != nil {
			return err
		}
		p.addPair(client.place, server.place, server.own, server.own, pathspec.ServerChoosesPort)
		p.mustCarry(pair, client.place, eth, pathspec.Transmits)
		p.mustCarry(pair, server.place, eth, pathspec.Receives)
		if pair == 1 {
			p.SetSteps(slices.Concat([]pathspec.Step{processStep(client.place), perPair(deviceStep(client.place, eth))}, link,
				[]pathspec.Step{perPair(deviceStep(server.place, eth)), processStep(server.place)})...)
		}
		return nil
	})
}

// mustNotSend requires that hosts send nothing on the underlay.
func (p *path) mustNotSend(hosts ...*lab.Host) {
	for _, h := range hosts {
		p.ReadDevice(p.hostPlace(h).Place, pathspec.Device{Name: eth})
		p.AddRules(driver.Rule{Counter: pathspec.CounterName(h.Name, eth, "tx_bytes"), Expect: driver.NoTraffic})
	}
}

// underlay requires that the traffic of all pairs crosses the underlay.
func (p *path) underlay() {
	p.mustCarry(pathspec.AllPairs, p.hostPlace(p.OnLab.A), eth, pathspec.Transmits)
	p.mustCarry(pathspec.AllPairs, p.hostPlace(p.OnLab.B), eth, pathspec.Receives)
}
