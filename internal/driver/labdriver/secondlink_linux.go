package labdriver

import (
	"net/netip"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// secondLink is the name of a second link between the hosts at both of its ends.
const secondLink = "eth1"

// onSecondLink and onUnderlay are the names of counters of a host's device on the second link and on the underlay.
func onSecondLink(h *lab.Host, what string) string { return h.Name + "/" + secondLink + "." + what }
func onUnderlay(h *lab.Host, what string) string   { return h.Name + "/" + h.Underlay + "." + what }

// The counters of a device of which an event reads those that it moves.
const sentBytes, receivedBytes, sentPackets, receivedPackets = "tx_bytes", "rx_bytes", "tx_packets", "rx_packets"

// addSecondLink makes the second link, which is like the underlay. The hosts that are named have their own addresses there too, as one with
// addresses of a loopback device: what they send has the same source over either link.
func addSecondLink(l *lab.Lab, addressed ...*lab.Host) error {
	device := l.Device(secondLink, l.Spec.MTU)
	if err := l.A.NS.Links().Veth(device, l.B.NS, device); err != nil {
		return err
	}
	for _, h := range []*lab.Host{l.B, l.A} {
		if err := l.SetUpDevice(h.NS, secondLink); err != nil {
			return err
		}
		if l.Spec.Rate == 0 {
			continue
		}
		if err := h.NS.Tuning().Limit(secondLink, l.Spec.Rate, l.Spec.MTU); err != nil {
			return err
		}
	}
	for _, h := range addressed {
		for _, own := range h.Addr {
			if err := h.NS.Routes().Address(secondLink, alone(own)); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeSecondLink removes the second link, with its addresses, routes and neighbours, if there is one.
func removeSecondLink(l *lab.Lab) error {
	if err := l.A.NS.Links().Remove(secondLink); !linuxnet.IsNoDevice(err) {
		return err
	}
	return nil
}

// readSecondLink adds the counters of a host's end of the second link to the others: 0 without that.
func readSecondLink(to driver.Counters, h *lab.Host, names ...string) error {
	s, err := h.NS.Links().Stats(secondLink)
	if err != nil && !linuxnet.IsNoDevice(err) {
		return err
	}
	values := map[string]uint64{sentBytes: s.TxBytes, receivedBytes: s.RxBytes, sentPackets: s.TxPackets, receivedPackets: s.RxPackets}
	for _, name := range names {
		to[onSecondLink(h, name)] = values[name]
	}
	return nil
}

// alone is the prefix of one address.
func alone(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
