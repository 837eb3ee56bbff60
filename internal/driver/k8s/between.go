package k8s

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/result"
)

// leaving is how a node reaches an address on the other.
type leaving struct {
	first  wire.Link   // the device that its routes name
	toNode wire.Link   // the device by which it reaches the other node itself
	links  []wire.Link // all devices of the node
}

// leave finds the devices by which a node reaches an address on the other.
func leave(ctx context.Context, h *remote.Host, node, addr netip.Addr) (out leaving, err error) {
	if out.first, err = h.DeviceToward(ctx, addr); err != nil {
		return out, err
	}
	if out.toNode, err = h.DeviceToward(ctx, node); err != nil {
		return out, err
	}
	out.links, _, err = h.Monitor.Links(ctx, netip.Addr{})
	return out, err
}

// sends returns the devices that must send what leaves: a tunnel, and the one below it. A device
// behind which the network chooses by itself must not, because it may hand packets on before the
// device counts them.
func (l leaving) sends() []wire.Link {
	switch kind, hidden := tunnelKind(l.first); {
	case hidden:
		return []wire.Link{l.toNode}
	case kind != "":
		return []wire.Link{l.first, l.toNode}
	}
	return []wire.Link{l.first}
}

// receives returns the devices of a node that must receive what the other sends as back: for a
// tunnel its counterpart here, which has the same name, or is the one that the routes of this node
// name. One direction may pass a tunnel and the other not, as between pods and nodes with Calico.
func (l leaving) receives(back leaving) []wire.Link {
	kind, hidden := tunnelKind(back.first)
	own, _ := tunnelKind(l.first)
	if kind == "" && own == "" {
		return []wire.Link{l.first}
	}
	out := []wire.Link{l.toNode}
	if kind == "" || hidden {
		return out
	}
	if own == kind {
		return append([]wire.Link{l.first}, out...)
	}
	for _, other := range l.links {
		if k, _ := tunnelKind(other); k == kind && other.Name == back.first.Name {
			return append([]wire.Link{other}, out...)
		}
	}
	return out
}

// mustLeave adds the lower bounds for the devices of one node, and returns their steps from the
// inside to the outside. forward is what it sends of a trial, and reverse what it receives.
func (p *path) mustLeave(h *remote.Host, l, back leaving, forward, reverse driver.Expect) []pathspec.Step {
	sends, receives := l.sends(), l.receives(back)
	all := slices.Clone(sends)
	for _, d := range slices.Backward(receives) {
		if !named(all, d.Name) {
			all = append([]wire.Link{d}, all...)
		}
	}
	var steps []pathspec.Step
	for _, d := range all {
		p.ReadDevice(h.Place, device(d))
		for _, r := range []struct {
			counter string
			of      []wire.Link
			expect  driver.Expect
		}{{"tx_bytes", sends, forward}, {"rx_bytes", receives, reverse}} {
			if named(r.of, d.Name) {
				p.AddRules(driver.Rule{Counter: pathspec.CounterName(h.At, d.Name, r.counter), Expect: r.expect, Pair: pathspec.AllPairs})
			}
		}
		steps = append(steps, pathspec.DeviceStep(h.Place, device(d)))
	}
	return steps
}

// carryBetween adds the rules for what is between the nodes of two endpoints. It returns the steps
// of both nodes in the order of the path. translated means that a service may change the address
// of a client on a node, so that it is not known what replies pass.
func (p *path) carryBetween(ctx context.Context, from, to *endpoint, translated bool) ([]pathspec.Step, error) {
	near, err := leave(ctx, p.a, p.b.Address, addressOf(to, p.b))
	if err != nil {
		return nil, err
	}
	p.checkIPv6(ctx, to)
	source := addressOf(from, p.a)
	if from.pod == nil {
		// A node sends into a tunnel with the address of the tunnel's device.
		if _, source, err = p.a.Monitor.Route(ctx, addressOf(to, p.b)); err != nil {
			return nil, err
		}
	}
	if to.pod == nil && p.reached.seen.IsValid() {
		source = p.reached.seen
	}
	far, err := leave(ctx, p.b, p.a.Address, source)
	if err != nil {
		return nil, err
	}
	text := betweenText(near, far)
	if from.pod == nil && translated {
		text = leaveText(near)
	}
	p.AddFacts(result.Fact{Name: "between the nodes", Value: text})
	out := p.mustLeave(p.a, near, far, driver.ForwardAtLeast, driver.ReverseAtLeast)
	return append(out, pathspec.Reversed(p.mustLeave(p.b, far, near, driver.ReverseAtLeast, driver.ForwardAtLeast))...), nil
}

// checkIPv6 leaves IPv6 out, before a pair is added, if it does not take the way of IPv4 to a server on the other node.
func (p *path) checkIPv6(ctx context.Context, to *endpoint) {
	if to6 := p.reached.ipv6Of(to, p.b); to6.IsValid() && p.a != p.b && p.a.Monitor != nil {
		p.reached.checkIPv6Device(ctx, p.a, addressOf(to, p.b), to6)
	}
}

// forwarded adds the rules for a path to the other node that leads back to a pod on the client's
// node, and sets its steps. Each direction passes the link between the nodes twice: to the node
// that is asked as it is, and between that node and the pod through a tunnel if there is one.
func (p *path) forwarded(ctx context.Context, before []pathspec.Step, to *endpoint, service, behind []pathspec.Step) error {
	there, err := leave(ctx, p.a, p.b.Address, p.b.Address)
	if err != nil {
		return err
	}
	on, err := leave(ctx, p.b, p.a.Address, addressOf(to, p.a))
	if err != nil {
		return err
	}
	p.AddFacts(result.Fact{Name: "between the nodes", Value: leaveText(there) + "; to the pod: " + leaveText(on)})
	for _, end := range []struct {
		h *remote.Host
		d wire.Link
	}{{p.a, there.toNode}, {p.b, on.toNode}} {
		p.MustCarryBothAtLeast(pathspec.AllPairs, end.h.Place, device(end.d))
	}
	steps := append(before, pathspec.DeviceStep(p.a.Place, device(there.toNode)), pathspec.DeviceStep(p.b.Place, device(on.toNode)))
	steps = append(steps, service...)
	if kind, hidden := tunnelKind(on.first); kind != "" && !hidden {
		p.read.MustMoveAtLeast(pathspec.AllPairs, p.b.Place, device(on.first), driver.ForwardAtLeast, driver.ReverseAtLeast)
		steps = append(steps, pathspec.DeviceStep(p.b.Place, device(on.first)))
		if named(there.links, on.first.Name) {
			p.read.MustMoveAtLeast(pathspec.AllPairs, p.a.Place, device(on.first), driver.ReverseAtLeast, driver.ForwardAtLeast)
			steps = append(steps, pathspec.DeviceStep(p.a.Place, device(on.first)))
		}
	}
	p.SetSteps(append(steps, behind...)...)
	return nil
}

// named reports whether a device with that name is among links.
func named(links []wire.Link, name string) bool {
	return slices.ContainsFunc(links, func(l wire.Link) bool { return l.Name == name })
}

func device(l wire.Link) pathspec.Device { return pathspec.Device{Name: l.Name} }

// addressOf returns the address at which an endpoint is reached.
func addressOf(e *endpoint, h *remote.Host) netip.Addr {
	if e.pod == nil {
		return h.Address
	}
	return e.Addr
}

// tunnelKind returns how a device encapsulates packets, "" if it does not. hidden means that some
// networks have routes to the device and choose behind it whether a packet takes a tunnel: those of
// Cilium, OVN-Kubernetes and Antrea, and others with Open vSwitch.
func tunnelKind(l wire.Link) (kind string, hidden bool) {
	const own = "chosen by the network behind its own device"
	for _, name := range []string{"cilium_host", "cilium_net", "ovn-k8s-", "antrea-gw"} {
		if strings.HasPrefix(l.Name, name) {
			return own, true
		}
	}
	switch l.Kind {
	case "wireguard":
		return "encrypted by WireGuard", false
	case "vxlan":
		return "overlay, VXLAN", false
	case "geneve":
		return "overlay, Geneve", false
	case "ipip", "sit", "ip6tnl":
		return "overlay, IP in IP", false
	case "gre", "gretap", "ip6gre", "ip6gretap":
		return "overlay, GRE", false
	case "xfrm", "vti", "vti6":
		return "IPsec (XFRM device)", false
	case "tun":
		return "tunnel of a process (TUN)", false
	case "openvswitch":
		return own, true
	}
	return "", false
}

// betweenText describes what is between two nodes, and what replies pass if that differs.
func betweenText(near, far leaving) string {
	there, _ := tunnelKind(near.first)
	back, _ := tunnelKind(far.first)
	if there == back && near.first.MTU == far.first.MTU {
		return leaveText(near)
	}
	return leaveText(near) + "; back: " + leaveText(far)
}

func leaveText(l leaving) string {
	kind, hidden := tunnelKind(l.first)
	if kind == "" {
		kind = "direct"
	}
	text := fmt.Sprintf("%s: device %s, MTU %d", kind, l.first.Name, l.first.MTU)
	if !hidden {
		return text
	}
	var tunnels []string
	for _, d := range l.links {
		if k, own := tunnelKind(d); k != "" && !own && d.Up {
			tunnels = append(tunnels, d.Name+" ("+k+")")
		}
	}
	if len(tunnels) == 0 {
		return text + "; the node has no tunnel"
	}
	return text + "; the node has " + strings.Join(tunnels, ", ")
}
