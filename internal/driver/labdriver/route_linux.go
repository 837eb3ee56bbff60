package labdriver

import (
	"context"
	"errors"
	"net/netip"

	"tare/internal/driver"
	"tare/internal/lab"
)

// routeChange moves the route of the client's host to the server's to a second link between them. What the server's host sends stays on
// the underlay. The link is made for the event and removed with its routes afterwards.
func routeChange(l *lab.Lab) driver.Event {
	return driver.Event{
		Name: driver.RouteChange, Title: "the client's host's route to the server's host moves to a second link",
		Elsewhere: map[string]string{
			onSecondLink(l.A, sentBytes):     onUnderlay(l.A, sentBytes),
			onSecondLink(l.B, receivedBytes): onUnderlay(l.B, receivedBytes),
		},
		State: func(context.Context) (driver.Counters, error) {
			out := driver.Counters{}
			err := readSecondLink(out, l.A, sentBytes, sentPackets)
			return out, errors.Join(err, readSecondLink(out, l.B, receivedBytes, receivedPackets))
		},
		Do: func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) error { return removeSecondLink(l) }, moveRoute(l)
		},
		Happened: func(before, after driver.Counters) error {
			return errors.Join(driver.Moved(before, after, onSecondLink(l.A, sentPackets), 1), driver.Moved(before, after, onSecondLink(l.B, receivedPackets), 1))
		},
	}
}

// moveRoute makes the second link and routes the addresses of host b over it.
func moveRoute(l *lab.Lab) error {
	if err := addSecondLink(l, l.A); err != nil {
		return err
	}
	mac, err := l.B.NS.Links().HardwareAddr(secondLink)
	if err != nil {
		return err
	}
	routes := l.A.NS.Routes()
	for _, to := range l.B.Addr {
		if err := errors.Join(routes.Neighbour(secondLink, to, mac), routes.Route(alone(to), netip.Addr{}, secondLink)); err != nil {
			return err
		}
	}
	return nil
}
