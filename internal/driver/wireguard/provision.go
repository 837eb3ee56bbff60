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

// counterOwner is the object that the tunnel's counters belong to.
const counterOwner = "wireguard"

// port is WireGuard's usual port.
const port = 51820

// mtuReduction is the default difference between the underlay's MTU and the inner MTU, as in
// wg-quick: it leaves space for an outer IPv6 header too.
const mtuReduction = 80

// peer is one endpoint of the tunnel.
type peer interface {
	// transfer returns the sent and received bytes of UDP payload, and the time of the last
	// handshake.
	transfer() (tx, rx uint64, agreed time.Time, err error)
}

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("wireguard", o.Mode)
	if err != nil {
		return nil, err
	}
	start := startKernel
	if row.Build.library {
		start = startLibrary
	}
	return tunnel.Provision(ctx, o, tunnel.Kind{Mode: row.Mode, Port: port, MTUReduction: mtuReduction}, func(ctx context.Context, p *tunnel.Path) (string, error) {
		return device, setUpTunnel(ctx, p, start)
	})
}

// explainNoHandshake adds to an error whether the handshake is missing.
func explainNoHandshake(peers [2]peer, err error) error {
	for i, host := range []string{"a", "b"} {
		_, _, agreed, cannot := peers[i].transfer()
		if cannot != nil {
			return fmt.Errorf("%w (%w)", cannot, err)
		}
		if agreed.IsZero() {
			return fmt.Errorf("the WireGuard handshake has not completed: host %s has seen none (%w)", host, err)
		}
	}
	return err
}

// endpointConfig is the configuration of one side of the tunnel.
type endpointConfig struct {
	Run     string         `json:"run"`
	Device  string         `json:"device"`
	MTU     int            `json:"mtu"`
	Port    uint16         `json:"port"`
	Private key            `json:"private"`
	Peer    key            `json:"peer"` // public
	At      netip.AddrPort `json:"at"`
	Allowed []netip.Prefix `json:"allowed"`
}

// endpointConfigs are both configurations, the client's first.
type endpointConfigs [2]endpointConfig

// setUpTunnel sets up the tunnel between the two hosts of p.
func setUpTunnel(ctx context.Context, p *tunnel.Path, start func(context.Context, *tunnel.Path, endpointConfigs) ([2]peer, error)) error {
	var keys [2]pair
	for i, s := range p.Sides() {
		random, err := p.Lab().Spec.Key("wireguard " + s.At)
		if err != nil {
			return err
		}
		if keys[i], err = newPair(random); err != nil {
			return err
		}
	}
	var both endpointConfigs
	for i, s := range p.Sides() {
		other := p.Other(s)
		both[i] = endpointConfig{Run: p.Lab().Spec.Claim.ID, Device: device, MTU: p.MTU, Port: port, Private: keys[i].private, Peer: keys[1-i].public,
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
		p.Transfer(s, counterOwner, func() (out, in uint64, err error) {
			out, in, _, err = peers[i].transfer()
			return out, in, err
		})
	}
	p.Diagnose = func(err error) error { return explainNoHandshake(peers, err) }
	p.AddFact("cipher", "ChaCha20-Poly1305, keys by Curve25519 (WireGuard has no other)")
	return p.Taps(func(*tunnel.Side) linuxnet.TunnelIngress { return linuxnet.TunnelIngress{Port: port} })
}
