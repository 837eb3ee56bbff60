//go:build linux

package linuxnet

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// WireGuardKey is a private or public Curve25519 key.
type WireGuardKey [wgtypes.KeyLen]byte

// WireGuard is a kernel WireGuard device with one peer.
type WireGuard struct {
	Device
	Port    uint16 // UDP listening port
	Private WireGuardKey
	Peer    WireGuardKey   // public
	At      netip.AddrPort // the peer's endpoint
	Allowed []netip.Prefix // prefixes behind the peer
}

// WireGuard creates the device and sets it up. It returns EOPNOTSUPP if the kernel lacks
// WireGuard.
func (ns *Tunnels) WireGuard(w WireGuard) error {
	if err := ns.whole().Links().add(&netlink.Wireguard{LinkAttrs: w.attrs()}, w.Device, ns.whole()); err != nil {
		return err
	}
	port := int(w.Port)
	peer := wgtypes.PeerConfig{PublicKey: wgtypes.Key(w.Peer), Endpoint: net.UDPAddrFromAddrPort(w.At), ReplaceAllowedIPs: true}
	for _, p := range w.Allowed {
		peer.AllowedIPs = append(peer.AllowedIPs, *ipNet(p))
	}
	err := ns.withWireGuard(func(c *wgctrl.Client) error {
		return c.ConfigureDevice(w.Name, wgtypes.Config{
			PrivateKey: (*wgtypes.Key)(&w.Private), ListenPort: &port, ReplacePeers: true, Peers: []wgtypes.PeerConfig{peer},
		})
	})
	if err != nil {
		return fmt.Errorf("configure %s in namespace %s: %w", w.Name, ns.name, err)
	}
	return nil
}

// WireGuardTransfer returns the bytes of UDP payload that a WireGuard device received and
// sent, and the time of the last handshake with its peer, zero if there was none.
func (ns *Tunnels) WireGuardTransfer(name string) (tx, rx uint64, agreed time.Time, err error) {
	var d *wgtypes.Device
	err = ns.withWireGuard(func(c *wgctrl.Client) (err error) {
		d, err = c.Device(name)
		return err
	})
	if err != nil {
		return 0, 0, agreed, fmt.Errorf("read counters of %s in namespace %s: %w", name, ns.name, err)
	}
	for _, p := range d.Peers {
		tx, rx, agreed = tx+uint64(p.TransmitBytes), rx+uint64(p.ReceiveBytes), p.LastHandshakeTime
	}
	return tx, rx, agreed, nil
}

func (ns *Tunnels) withWireGuard(fn func(*wgctrl.Client) error) error {
	return ns.whole().Do(func() error {
		c, err := wgctrl.New()
		if err != nil {
			return err
		}
		defer c.Close()
		return fn(c)
	})
}
