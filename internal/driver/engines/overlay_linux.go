package engines

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// The names of the overlay driver's devices.
const (
	overlayBridge = "br0"             // in the network's namespace
	overlayTunnel = "vxlan0"          // there
	gwbridge      = "docker_gwbridge" // on the host: connects overlays to the outside
)

// The options of Docker's overlay driver.
const (
	optionMTU       = "com.docker.network.driver.mtu" // of the underlay, bytes
	optionEncrypted = "encrypted"
)

// overlayPath is a path over an overlay of a Swarm of the two engines.
type overlayPath struct {
	*path
	overlay
	near, far *namespace // each host's part
}

func (m overlay) build(ctx context.Context, on *path) error {
	p := &overlayPath{path: on, overlay: m}
	if m.encrypted {
		return p.buildEncrypted(ctx)
	}
	if err := p.buildOverlay(ctx, map[string]string{}, containers.GossipTimeout); err != nil {
		return err
	}
	tunnel := func(u untracked) untracked {
		u.UDPPort = vxlanPort
		return u
	}
	return errors.Join(
		p.without.conntrack(p.a, tunnel(sends(eth, driver.Forward)), tunnel(receives(eth, driver.Reverse))),
		p.without.conntrack(p.b, tunnel(receives(eth, driver.Forward)), tunnel(sends(eth, driver.Reverse))))
}

// vxlanPort is the UDP port of a Swarm's tunnels.
const vxlanPort = 4789

// buildOverlay builds an overlay with the driver's options, waits until its endpoints reach
// each other, and adds the rules that apply to every overlay, encrypted or not.
func (p *overlayPath) buildOverlay(ctx context.Context, options map[string]string, wait time.Duration) error {
	if err := private.Swarm(ctx, p.lab, p.a.engine, p.b.engine); err != nil {
		return err
	}
	// The driver assumes Ethernet's MTU for the underlay unless it is set.
	mtu, err := p.underlayMTU()
	if err != nil {
		return err
	}
	if mtu != lab.DefaultMTU {
		options[optionMTU] = strconv.Itoa(mtu)
	}
	spec := engine.NetworkSpec{Run: p.lab.Spec.Claim.ID, Driver: "overlay", Options: options, Attachable: true}
	spec.Name = engine.Name(spec.Run, "overlay")
	spec.Subnet, _ = containers.SplitFamilies(p.lab.Addresses(lab.NetOverlay, 0)) // the driver carries IPv4 only
	net, err := p.a.engine.CreateNetwork(ctx, spec)
	if err != nil {
		return err
	}
	network := networkPath{path: p.path, near: net, far: net}
	all, err := network.start(ctx, wait)
	if err != nil {
		return err
	}
	if p.near, err = p.openOverlay(p.a, net.ID); err != nil {
		return err
	}
	if p.far, err = p.openOverlay(p.b, net.ID); err != nil {
		return err
	}
	// The bridge to the outside comes first: if a published port is used, that is the
	// reason to report.
	for _, s := range p.sides() {
		p.idle(s.Place, gwbridge, docker0)
	}
	for i, c := range all {
		if err := p.join(i+1, c); err != nil {
			return err
		}
	}
	p.sharedUnderlay()
	p.MustCarry(pathspec.AllPairs, p.near.Place, pathspec.Device{Name: overlayTunnel}, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, p.far.Place, pathspec.Device{Name: overlayTunnel}, pathspec.Receives)
	for _, s := range []*namespace{p.near, p.far} {
		p.idle(s.Place, overlayBridge)
	}
	return nil
}

// espAlignment is what Docker's overlay driver rounds the MTU of an encrypted overlay down to a
// multiple of (libnetwork, drivers/overlay).
const espAlignment = 4

// underlayMTU returns the underlay's MTU, or the one that makes the driver set the requested
// MTU inside the overlay.
func (p *overlayPath) underlayMTU() (int, error) {
	room := driver.VXLANHeaders
	if p.encrypted {
		room += driver.OverlayESPHeaders
	}
	want := p.order.MTU
	switch {
	case want == 0:
		return p.lab.Spec.MTU, nil
	case want+room > p.lab.Spec.MTU:
		return 0, fmt.Errorf("the overlay cannot have an inner MTU of %d: encapsulation takes %d bytes, and the underlay's MTU is %d", want, room, p.lab.Spec.MTU)
	case p.encrypted && want%espAlignment != 0:
		return 0, fmt.Errorf("the overlay cannot have an inner MTU of %d: an encrypted overlay requires a multiple of %d", want, espAlignment)
	}
	return want + room, nil
}

// openOverlay opens one host's part of an overlay: the namespace with its bridge, its tunnel and the
// host's ends of the containers' devices. It exists once a container on that host
// has joined.
func (h *hosts) openOverlay(s *side, id string) (*namespace, error) {
	file, err := overlaySpace(filepath.Join(s.engine.Exec(), "netns"), id)
	if err != nil {
		return nil, fmt.Errorf("find the overlay's namespace on host %s: %w", s.At, err)
	}
	n, err := h.open(s, "overlay", file)
	if err != nil {
		return nil, err
	}
	for _, device := range []string{overlayBridge, overlayTunnel} {
		if err := n.ns.Tuning().Segmentation(device, h.lab.Spec.Offload); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// overlaySpace finds the namespace of an overlay in an engine's directory. Its name is a
// number followed by the beginning of the network's id.
func overlaySpace(dir, id string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "[0-9]*-*"))
	if err != nil {
		return "", err
	}
	for _, file := range found {
		_, part, _ := strings.Cut(filepath.Base(file), "-")
		if len(part) >= 8 && strings.HasPrefix(id, part) {
			return file, nil
		}
	}
	return "", fmt.Errorf("no namespace in %s belongs to network %s: %s", dir, id, strings.Join(found, " "))
}

// join adds one pair of containers on the overlay.
func (p *overlayPath) join(pair int, c containerPair) error {
	for b, in := range map[*box]*namespace{c.from: p.near, c.to: p.far} {
		if err := b.findDevice(); err != nil {
			return err
		}
		if err := p.boxes.plug(b, in.Place, in.ns); err != nil {
			return err
		}
		// The other devices are loopback and the one on docker_gwbridge.
		if err := p.bypassOthers(b, b.device); err != nil {
			return err
		}
	}
	at := c.to.container.Addresses()
	p.AddPair(c.from.end(), c.to.end(), at, at, pathspec.ServerChoosesPort)
	p.MustCarry(pair, p.near.Place, c.from.veth, pathspec.Receives)
	p.MustCarry(pair, p.far.Place, c.to.veth, pathspec.Transmits)
	if pair > 1 {
		return nil
	}
	steps := []pathspec.Step{c.from.process(), c.from.ethStep(), c.from.vethStep(),
		p.near.device(overlayBridge), p.near.device(overlayTunnel)}
	if p.encrypted {
		steps = append(steps, p.a.espStep(), p.a.device(eth), p.b.device(eth), p.b.espStep())
	} else {
		steps = append(steps, p.a.device(eth), p.b.device(eth))
	}
	p.SetSteps(append(steps, p.far.device(overlayTunnel), p.far.device(overlayBridge),
		c.to.vethStep(), c.to.ethStep(), c.to.process())...)
	return nil
}

// tapTable is the nftables table of the packet counters on the underlay devices.
const tapTable = "tare"

// unsupportedWait is how long to wait for an encrypted overlay if the kernel has rejected
// what the engine requires for it.
const unsupportedWait = time.Second

// buildEncrypted builds the overlay with IPsec ESP between the hosts.
func (p *overlayPath) buildEncrypted(ctx context.Context) error {
	// An engine starts containers on an encrypted network even if the kernel rejects its
	// security associations. Only traffic shows the failure; the kernel's error is the
	// reason.
	refused, wait := linuxnet.ProbeESP(), containers.GossipTimeout
	if refused != nil {
		wait = unsupportedWait
	}
	err := p.buildOverlay(ctx, map[string]string{optionEncrypted: ""}, wait)
	if remote.IsUnreachable(err) && refused != nil {
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
			"the kernel lacks IPsec ESP (CONFIG_INET_ESP, CONFIG_CRYPTO_GCM): %v; the containers start, but %v", refused, err)}
	}
	if err != nil {
		return err
	}
	return p.mustEncrypt()
}

// mustEncrypt requires that all traffic on the underlay goes through security associations
// and that no tunnel packet crosses it unencrypted.
func (p *path) mustEncrypt() error {
	for _, s := range p.sides() {
		if err := s.ns.Rules().CountIngress(tapTable, eth); err != nil {
			return err
		}
		p.ReadIngress(s.Place, s.ns, tapTable, eth)
	}
	p.AddReader(readAssociations(p.a, p.b))
	p.AddReader(readAssociations(p.b, p.a))
	p.AddRules(
		driver.Rule{Counter: pathspec.CounterName("a", "esp", "out_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: pathspec.CounterName("b", "esp", "in_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: pathspec.CounterName("b", "esp", "out_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: pathspec.CounterName("a", "esp", "in_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: pathspec.CounterName("b", eth, linuxnet.CountESP+"_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: pathspec.CounterName("a", eth, linuxnet.CountESP+"_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: pathspec.CounterName("a", eth, linuxnet.CountClear+"_bytes"), Expect: driver.NoTraffic},
		driver.Rule{Counter: pathspec.CounterName("b", eth, linuxnet.CountClear+"_bytes"), Expect: driver.NoTraffic},
	)
	return nil
}

// espStep is the encryption of a host's outgoing and incoming packets.
func (s *side) espStep() pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(s.Place, "esp", "IPsec ESP"), s.At+"/esp")
}

// readAssociations reads the bytes that a host's security associations with the other have
// processed, selected by the underlay's addresses and independent of the current keys.
func readAssociations(s, other *side) pathspec.CounterReader {
	return func(_ context.Context, into driver.Counters) error {
		list, err := s.ns.Tunnels().Associations()
		if err != nil {
			return err
		}
		out, in := espBytes(list, s.host.Addr[0], other.host.Addr[0])
		into[pathspec.CounterName(s.At, "esp", "out_bytes")] = out
		into[pathspec.CounterName(s.At, "esp", "in_bytes")] = in
		return nil
	}
}

// espBytes returns the ESP bytes between two addresses, in each direction.
func espBytes(list []linuxnet.SecurityAssociation, own, other netip.Addr) (out, in uint64) {
	for _, a := range list {
		switch {
		case !a.ESP:
		case a.Src == own && a.Dst == other:
			out += a.Bytes
		case a.Src == other && a.Dst == own:
			in += a.Bytes
		}
	}
	return out, in
}
