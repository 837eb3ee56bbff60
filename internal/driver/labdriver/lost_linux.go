package labdriver

import (
	"context"
	"errors"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// linkLost takes the underlay link between the hosts down until the trial has ended, and a second link takes its place, as in a network
// with two links, of which the second has routes of a higher metric. The kernel keeps the routes over a link that only lacks a carrier, so
// each host takes its device down, as network managers do. The second link with its addresses and routes is there before, so that no
// packet of either family is without a route, which the client's host would answer itself, over loopback.
func linkLost(l *lab.Lab) driver.Event {
	hosts := []*lab.Host{l.A, l.B}
	const noCarrier, routes = "no_carrier", "routes"
	moved := map[string]string{}
	for _, h := range hosts {
		for _, bytes := range []string{sentBytes, receivedBytes} {
			moved[onSecondLink(h, bytes)] = onUnderlay(h, bytes)
		}
	}
	return driver.Event{
		Name: driver.LinkLost, Title: "the link between the hosts is lost, and a second one takes its place", Flaps: true, Elsewhere: moved,
		State: func(context.Context) (driver.Counters, error) {
			out := driver.Counters{}
			for i, h := range hosts {
				err := errors.Join(readCarrierChanges(out, h), readSecondLink(out, h, sentBytes, receivedBytes, sentPackets, receivedPackets))
				running, err2 := h.NS.Links().HasCarrier(h.Underlay)
				if err = errors.Join(err, err2); err != nil {
					return nil, err
				}
				out[onUnderlay(h, noCarrier)] = 0
				if !running {
					out[onUnderlay(h, noCarrier)] = 1
				}
				if out[onSecondLink(h, routes)], err = routesOver(h.NS, hosts[1-i]); err != nil {
					return nil, err
				}
			}
			return out, nil
		},
		Prepare: func(context.Context) (func(context.Context) error, error) {
			undo := func(context.Context) error { return removeSecondLink(l) }
			if err := addSecondLink(l, l.A, l.B); err != nil {
				return undo, err
			}
			return undo, errors.Join(l.A.NS.Routes().Backup(l.A.Underlay, secondLink), l.B.NS.Routes().Backup(l.B.Underlay, secondLink))
		},
		Do: func(context.Context) (func(context.Context) error, error) {
			var restore []func() error
			undo := func(context.Context) error {
				var errs []error
				for _, again := range restore {
					errs = append(errs, again())
				}
				return errors.Join(errs...)
			}
			for _, h := range hosts {
				again, err := h.NS.Links().Down(h.Underlay)
				if again != nil {
					restore = append(restore, again)
				}
				if err != nil {
					return undo, err
				}
			}
			return undo, errors.Join(checkNoCarrier(l.A), checkNoCarrier(l.B))
		},
		Happened: func(before, after driver.Counters) error {
			var errs []error
			for i, h := range hosts {
				errs = append(errs,
					driver.Moved(before, after, onUnderlay(h, driver.CarrierChanges), 1),
					driver.Moved(before, after, onUnderlay(h, noCarrier), 1), // until the end
					driver.Moved(before, after, onSecondLink(h, routes), uint64(len(hosts[1-i].Addr))),
					driver.Moved(before, after, onSecondLink(h, sentPackets), 1),
					driver.Moved(before, after, onSecondLink(h, receivedPackets), 1))
			}
			return errors.Join(errs...)
		},
	}
}

// routesOver counts the addresses of a host that a namespace reaches over the second link.
func routesOver(from *linuxnet.NS, to *lab.Host) (n uint64, err error) {
	for _, addr := range to.Addr {
		way, err := from.Routes().Toward(addr)
		if err != nil {
			return 0, err
		}
		if way.Device == secondLink {
			n++
		}
	}
	return n, nil
}
