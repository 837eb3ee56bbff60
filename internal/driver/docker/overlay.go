//go:build linux

package docker

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// The names of devices that Docker's overlay driver has.
const (
	overlayBridge = "br0"             // in the network's own namespace
	overlayTunnel = "vxlan0"          // there
	gwbridge      = "docker_gwbridge" // on the host: the way out of overlays
)

// The options of Docker's overlay driver.
const (
	optionMTU       = "com.docker.network.driver.mtu" // of the underlay, bytes
	optionEncrypted = "encrypted"
)

// overlay: containers on an attachable overlay of a Swarm of the two engines.
func (p *path) overlay(ctx context.Context) error {
	return p.onOverlay(ctx, map[string]string{}, containers.GossipTimeout)
}

// onOverlay builds an overlay with the driver's options, has its ends reach each other
// within a time, and declares what every one must show, encrypted or not.
func (p *path) onOverlay(ctx context.Context, options map[string]string, wait time.Duration) error {
	if err := private.Swarm(ctx, p.lab, p.a.engine, p.b.engine); err != nil {
		return err
	}
	// The driver takes Ethernet's MTU for the underlay's unless it is told.
	mtu, err := p.outside()
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
	all, err := p.onSwarm(ctx, net, wait)
	if err != nil {
		return err
	}
	near, err := p.within(p.a, net.ID)
	if err != nil {
		return err
	}
	far, err := p.within(p.b, net.ID)
	if err != nil {
		return err
	}
	// The way out of an overlay comes first: a published port would be that, and then
	// that is the reason to give.
	for _, s := range p.sides() {
		p.MustBeIdle(s.Place, pathspec.Device{Name: gwbridge})
		p.MustBeIdle(s.Place, pathspec.Device{Name: docker0})
	}
	for i, c := range all {
		if err := p.join(i+1, c, near, far); err != nil {
			return err
		}
	}
	p.sharedUnderlay()
	p.MustCarry(pathspec.AllPairs, near.Place, pathspec.Device{Name: overlayTunnel}, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, far.Place, pathspec.Device{Name: overlayTunnel}, pathspec.Receives)
	for _, s := range []*overlayNamespace{near, far} {
		p.MustBeIdle(s.Place, pathspec.Device{Name: overlayBridge})
	}
	return nil
}

// What Docker's overlay driver takes off the underlay's MTU for VXLAN and for ESP; what
// is left for an encrypted overlay it rounds down to a multiple of 4 (libnetwork,
// drivers/overlay).
const (
	vxlanRoom = 50
	espRoom   = 26
	espRound  = 4
)

// outside is the MTU of the underlay, or the one that makes the driver give the overlay
// the MTU that was ordered.
func (p *path) outside() (int, error) {
	room := vxlanRoom
	if p.sealed {
		room += espRoom
	}
	want := p.order.MTU
	switch {
	case want == 0:
		return p.lab.Spec.MTU, nil
	case want+room > p.lab.Spec.MTU:
		return 0, fmt.Errorf("an MTU of %d inside the overlay cannot be had: it takes %d bytes, and the underlay's MTU is %d", want, room, p.lab.Spec.MTU)
	case p.sealed && want%espRound != 0:
		return 0, fmt.Errorf("an MTU of %d inside the overlay cannot be had: an encrypted one has a multiple of %d", want, espRound)
	}
	return want + room, nil
}

// overlayNamespace is one host's part of an overlay: the namespace with its bridge, its tunnel
// and the host's ends of the containers' devices.
type overlayNamespace struct {
	pathspec.Place
	ns *linuxnet.NS
}

// within opens one host's part of an overlay, which stands as soon as a container
// on that host has joined.
func (p *path) within(s *side, id string) (*overlayNamespace, error) {
	file, err := overlaySpace(filepath.Join(s.engine.Exec(), "netns"), id)
	if err != nil {
		return nil, fmt.Errorf("find the overlay's namespace on host %s: %w", s.At, err)
	}
	at := s.At + "/overlay"
	ns, err := linuxnet.OpenNS(at, file)
	if err != nil {
		return nil, err
	}
	p.spaces = append(p.spaces, ns)
	for _, device := range []string{overlayBridge, overlayTunnel} {
		if err := ns.Segmentation(device, p.lab.Spec.Offload); err != nil {
			return nil, err
		}
	}
	return &overlayNamespace{pathspec.Place{At: at, Host: s.Host, Stack: pathspec.NamespaceStack{NS: ns}}, ns}, nil
}

// overlaySpace finds the namespace of the overlay with that id among an engine's.
// Its name is a counter of the driver's and as much of the id as there is room for.
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
	return "", fmt.Errorf("none of those in %s is of network %s: %s", dir, id, strings.Join(found, " "))
}

// join notes one pair of containers on the overlay.
func (p *path) join(pair int, c containerPair, near, far *overlayNamespace) error {
	device := map[*box]string{}
	veth := map[*box]pathspec.Device{}
	for b, in := range map[*box]*overlayNamespace{c.from: near, c.to: far} {
		addr, err := b.addr()
		if err != nil {
			return err
		}
		if device[b], err = b.ns.DeviceWith(addr); err != nil {
			return err
		}
		if veth[b], err = p.vethIn(b, device[b], in.ns); err != nil {
			return err
		}
		// The other devices are loopback and the one on docker_gwbridge.
		if err := p.aside(b, device[b]); err != nil {
			return err
		}
	}
	at := c.to.container.Addresses()
	p.AddPair(c.from.end(), c.to.end(), at, at, pathspec.ServerChoosesPort)
	p.MustCarry(pair, near.Place, veth[c.from], pathspec.Receives)
	p.MustCarry(pair, far.Place, veth[c.to], pathspec.Transmits)
	if pair > 1 {
		return nil
	}
	on := func(at pathspec.Place, name string) pathspec.Step {
		return pathspec.DeviceStep(at, pathspec.Device{Name: name})
	}
	steps := []pathspec.Step{c.from.process(), pathspec.PerPair(on(c.from.Place, device[c.from])), pathspec.PerPair(pathspec.DeviceStep(near.Place, veth[c.from])),
		on(near.Place, overlayBridge), on(near.Place, overlayTunnel)}
	if p.sealed {
		steps = append(steps, p.a.espStep(), p.a.device(eth), p.b.device(eth), p.b.espStep())
	} else {
		steps = append(steps, p.a.device(eth), p.b.device(eth))
	}
	p.SetSteps(append(steps, on(far.Place, overlayTunnel), on(far.Place, overlayBridge),
		pathspec.PerPair(pathspec.DeviceStep(far.Place, veth[c.to])), pathspec.PerPair(on(c.to.Place, device[c.to])), c.to.process())...)
	return nil
}
