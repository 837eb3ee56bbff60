//go:build linux

package wireguard

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/tunnel"
	"tare/internal/linuxnet"
)

// device is the tunnel's device on both hosts.
const device = "wg0"

// counts is what the tunnel's own counters belong to.
const counts = "wireguard"

// port is WireGuard's usual one.
const port = 51820

// overhead is what WireGuard over IPv4 adds to a packet: outer IPv4 20, UDP 8, its own
// header 16 and the tag 16. It pads to 16 bytes, but never beyond the MTU (the WireGuard
// paper, section 5.4.6).
const overhead = 60

// usual is by how much the MTU inside is less than the underlay's, as wg-quick has it:
// room for an outer IPv6 header too.
const usual = 80

// peer is one end of a tunnel that stands.
type peer interface {
	// transfer is what went out and came in, in bytes of UDP payload, and when keys
	// were last agreed on.
	transfer() (tx, rx uint64, agreed time.Time, err error)
}

// Probe builds the mode once and takes it down again.
func (d Driver) Probe(ctx context.Context, o labdriver.ModeSpec) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode on a lab of its own, with 1 to MaxPairs pairs of ends.
func (d Driver) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	var start func(context.Context, *tunnel.Path, ends) ([2]peer, error)
	switch o.Mode {
	case kernel:
		start = inKernel
	case userspace:
		start = inLibrary
	case goBinary:
		start = inBinary
	default:
		return nil, fmt.Errorf("driver wireguard has no mode %q", o.Mode)
	}
	p, err := tunnel.Build(ctx, o, tunnel.Kind{Port: port, Overhead: overhead, MTUReduction: usual}, func(ctx context.Context, p *tunnel.Path) (string, error) {
		return device, lay(ctx, p, start)
	})
	if err != nil {
		return nil, err
	}
	return p.DriverPath(), nil
}

// unkeyed says of two ends between which nothing comes through whether it is for lack of
// keys.
func unkeyed(peers [2]peer, err error) error {
	for i, host := range []string{"a", "b"} {
		_, _, agreed, cannot := peers[i].transfer()
		if cannot != nil {
			return fmt.Errorf("%w (%w)", cannot, err)
		}
		if agreed.IsZero() {
			return fmt.Errorf("the two ends have not agreed on keys: host %s has seen no handshake (%w)", host, err)
		}
	}
	return err
}

// end is how one side of the tunnel is set.
type end struct {
	Run     string         `json:"run"`
	Device  string         `json:"device"`
	MTU     int            `json:"mtu"`
	Port    uint16         `json:"port"`
	Private key            `json:"private"`
	Peer    key            `json:"peer"` // public
	At      netip.AddrPort `json:"at"`
	Allowed []netip.Prefix `json:"allowed"`
}

// ends are both, the client's first.
type ends [2]end

// lay sets up the tunnel between the two hosts of p.
func lay(ctx context.Context, p *tunnel.Path, start func(context.Context, *tunnel.Path, ends) ([2]peer, error)) error {
	var keys [2]pair
	for i := range keys {
		var err error
		if keys[i], err = newPair(); err != nil {
			return err
		}
	}
	var both ends
	for i, s := range p.Sides() {
		other := p.Other(s)
		both[i] = end{Run: p.Lab().Spec.Claim.ID, Device: device, MTU: p.MTU, Port: port, Private: keys[i].private, Peer: keys[1-i].public,
			At: netip.AddrPortFrom(other.Host.Addr[0], port), Allowed: other.Subnets}
	}
	peers, err := start(ctx, p, both)
	if err != nil {
		return err
	}
	for i, s := range p.Sides() {
		if err := p.RouteToPeer(s, device); err != nil {
			return err
		}
		p.Transfer(s, counts, func() (out, in uint64, err error) {
			out, in, _, err = peers[i].transfer()
			return out, in, err
		})
	}
	p.Diagnose = func(err error) error { return unkeyed(peers, err) }
	p.AddFact("cipher", "ChaCha20-Poly1305, keys by Curve25519 (WireGuard has no other)")
	return p.Taps(func(*tunnel.Side) linuxnet.TunnelIngress { return linuxnet.TunnelIngress{Port: port} })
}
