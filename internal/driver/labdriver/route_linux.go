package labdriver

import (
	"context"
	"errors"
	"net/netip"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// secondLink is the name of a second link between the hosts at both of its ends.
const secondLink = "eth1"

// routeChange moves the route of the client's host to the server's to a second link between them. What the server's host sends stays on
// the underlay. The link is made for the event and removed with its routes afterwards.
func routeChange(l *lab.Lab) driver.Event {
	counter := func(h *lab.Host, what string) string { return h.Name + "/" + secondLink + "." + what }
	ofPath := func(h *lab.Host, what string) string { return h.Name + "/" + h.Underlay + "." + what }
	const sent, arrived, packets = "tx_bytes", "rx_bytes", "_packets"
	return driver.Event{
		Name: RouteChange, Title: "the client's host's route to the server's host moves to a second link",
		Elsewhere: map[string]string{
			counter(l.A, sent):    ofPath(l.A, sent),
			counter(l.B, arrived): ofPath(l.B, arrived),
		},
		State: func(context.Context) (driver.Counters, error) {
			at, err := linkStats(l.A)
			to, err2 := linkStats(l.B)
			return driver.Counters{
				counter(l.A, sent): at.TxBytes, counter(l.A, "tx"+packets): at.TxPackets,
				counter(l.B, arrived): to.RxBytes, counter(l.B, "rx"+packets): to.RxPackets,
			}, errors.Join(err, err2)
		},
		Do: func(context.Context) (func(context.Context) error, error) {
			undo := func(context.Context) error {
				if err := l.A.NS.Links().Remove(secondLink); !linuxnet.IsNoDevice(err) {
					return err
				}
				return nil
			}
			return undo, moveRoute(l)
		},
		Happened: func(before, after driver.Counters) error {
			return errors.Join(driver.Moved(before, after, counter(l.A, "tx"+packets), 1), driver.Moved(before, after, counter(l.B, "rx"+packets), 1))
		},
	}
}

// linkStats reads the counters of a host's end of the second link, 0 without that.
func linkStats(h *lab.Host) (linuxnet.LinkStats, error) {
	s, err := h.NS.Links().Stats(secondLink)
	if linuxnet.IsNoDevice(err) {
		return linuxnet.LinkStats{}, nil
	}
	return s, err
}

// moveRoute makes the second link, which is like the underlay, and routes the addresses of host b over it. The client's host has its own
// addresses there too, as one with addresses of a loopback device: what it sends has the same source over either link.
func moveRoute(l *lab.Lab) error {
	a, b := l.A.NS, l.B.NS
	device := l.Device(secondLink, l.Spec.MTU)
	if err := a.Links().Veth(device, b, device); err != nil {
		return err
	}
	for _, ns := range []*linuxnet.NS{b, a} {
		if err := l.SetUpDevice(ns, secondLink); err != nil {
			return err
		}
		if l.Spec.Rate == 0 {
			continue
		}
		if err := ns.Tuning().Limit(secondLink, l.Spec.Rate, l.Spec.MTU); err != nil {
			return err
		}
	}
	mac, err := b.Links().HardwareAddr(secondLink)
	if err != nil {
		return err
	}
	alone := func(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }
	for _, own := range l.A.Addr {
		if err := a.Routes().Address(secondLink, alone(own)); err != nil {
			return err
		}
	}
	for _, to := range l.B.Addr {
		if err := errors.Join(a.Routes().Neighbour(secondLink, to, mac), a.Routes().Route(alone(to), netip.Addr{}, secondLink)); err != nil {
			return err
		}
	}
	return nil
}
