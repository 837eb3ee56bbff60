package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tare/internal/linuxnet"
)

// network sets up the guest's network as described.
func (h *host) network(n Net) error {
	own := h.namespaces[""]
	n.Addresses = supportedAddresses(n.Addresses)
	n.Gateways = slices.DeleteFunc(n.Gateways, func(a netip.Addr) bool { return a.Is6() && !self().IPv6 })
	if err := configure(own, n.Settings); err != nil {
		return err
	}
	if err := own.Links().Up("lo"); err != nil {
		return err
	}
	if err := own.Tuning().Segmentation("lo", n.Offload); err != nil {
		return err
	}
	if len(n.Addresses) == 0 {
		return nil // it has no device
	}
	if err := awaitDevice(own); err != nil {
		return err
	}
	if err := own.Links().MTU(DeviceName, n.MTU); err != nil {
		return err
	}
	if err := setUpDevice(own, n.Addresses, n.Offload); err != nil {
		return err
	}
	for _, gw := range n.Gateways {
		if err := own.Routes().DefaultRoute(gw); err != nil {
			return err
		}
	}
	pingGateways(n.Gateways)
	if n.Published == nil {
		return nil
	}
	return h.publish(own, n, *n.Published)
}

// discard is the port of the discard service (RFC 863).
const discard = 9

// pingGateways sends a packet to each gateway. passt learns the guest's hardware address only from
// such packets, and until then the packets it sends to the guest are lost.
func pingGateways(gateways []netip.Addr) {
	for _, gw := range gateways {
		c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(gw, discard)))
		if err != nil {
			continue // other attachments do not need it
		}
		_, _ = c.Write([]byte{0})
		_ = c.Close()
	}
}

// awaitDevice waits until the kernel has created the device of the machine's one adapter.
func awaitDevice(own *linuxnet.NS) error {
	for until := time.Now().Add(deviceTimeout()); ; time.Sleep(lookFor) {
		_, err := own.Links().Stats(DeviceName)
		if err == nil {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("the guest's kernel created no device for its network adapter: %w", err)
		}
	}
}

// supportedAddresses leaves out addresses of a family that the guest's kernel lacks.
func supportedAddresses(prefixes []netip.Prefix) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(prefixes), func(p netip.Prefix) bool { return p.Addr().Is6() && !self().IPv6 })
}

// configure applies sysctls. It skips those that this kernel lacks.
func configure(ns *linuxnet.NS, settings [][2]string) error {
	for _, s := range settings {
		if _, err := ns.ReadSysctl(s[0]); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := ns.Sysctl(s[0], s[1]); err != nil {
			return err
		}
	}
	return nil
}

// setUpDevice assigns the addresses of a namespace's device and sets it up.
func setUpDevice(ns *linuxnet.NS, addresses []netip.Prefix, offload bool) error {
	if err := ns.Tuning().Segmentation(DeviceName, offload); err != nil {
		return err
	}
	if err := ns.Links().Up(DeviceName); err != nil {
		return err
	}
	for _, a := range addresses {
		if err := ns.Routes().Address(DeviceName, a); err != nil {
			return err
		}
	}
	return nil
}

// publish creates the bridge, the sandboxes and the port forwarding rules.
func (h *host) publish(own *linuxnet.NS, n Net, p Published) error {
	if err := own.Links().Bridge(linuxnet.Device{Name: p.Bridge, MTU: n.MTU}); err != nil {
		return err
	}
	if err := own.Tuning().Segmentation(p.Bridge, n.Offload); err != nil {
		return err
	}
	g := linuxnet.Gateway{Table: p.Table, Bridge: p.Bridge, Rules: linuxnet.EngineRules}
	for _, a := range supportedAddresses(p.BridgeAddresses) {
		if err := own.Routes().Address(p.Bridge, a); err != nil {
			return err
		}
		g.Subnets = append(g.Subnets, a.Masked())
	}
	for _, b := range p.Sandboxes {
		if err := h.makeSandbox(own, n, p, b); err != nil {
			return fmt.Errorf("create sandbox %s in the guest: %w", b.Name, err)
		}
		for _, a := range supportedAddresses(b.Addresses) {
			g.Publish = append(g.Publish, linuxnet.Published{Port: b.Publish, To: netip.AddrPortFrom(a.Addr(), b.Publish)})
		}
	}
	if err := own.Sysctl("net/ipv4/ip_forward", "1"); err != nil {
		return err
	}
	if self().IPv6 {
		if err := own.Sysctl("net/ipv6/conf/all/forwarding", "1"); err != nil {
			return err
		}
	}
	return own.Rules().Gateway(g)
}

func (h *host) makeSandbox(own *linuxnet.NS, n Net, p Published, b Sandbox) error {
	if b.Name == "" || strings.Contains(b.Name, "/") || h.namespaces[b.Name] != nil {
		return errors.New("the name is empty or already in use")
	}
	ns, err := linuxnet.NewNS(b.Name)
	if err != nil {
		return err
	}
	h.namespaces[b.Name] = ns
	if err := configure(ns, n.Settings); err != nil {
		return err
	}
	if err := ns.Tuning().Segmentation("lo", n.Offload); err != nil {
		return err
	}
	if err := own.Links().Veth(linuxnet.Device{Name: b.Port, MTU: n.MTU}, ns, linuxnet.Device{Name: DeviceName, MTU: n.MTU}); err != nil {
		return err
	}
	if err := own.Tuning().Segmentation(b.Port, n.Offload); err != nil {
		return err
	}
	if err := own.Links().Attach(b.Port, p.Bridge); err != nil {
		return err
	}
	if err := setUpDevice(ns, supportedAddresses(b.Addresses), n.Offload); err != nil {
		return err
	}
	for _, gw := range supportedAddresses(p.BridgeAddresses) {
		if err := ns.Routes().DefaultRoute(gw.Addr()); err != nil {
			return err
		}
	}
	return nil
}
