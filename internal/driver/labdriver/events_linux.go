package labdriver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/lab"
)

// How long the link is down, and how many rules a policy has.
const (
	linkDownTime = 200 * time.Millisecond
	policyRules  = 1000
)

// Events are the events of a path with these rules and pairs on a lab. A path that does not use the link between the hosts has none, nor
// has one of which this machine has only a half.
func Events(l *lab.Lab, rules []driver.Rule, pairs []driver.Pair) []driver.Event {
	link := l.B.Name + "/" + l.B.Underlay + "."
	used := slices.ContainsFunc(rules, func(r driver.Rule) bool { return strings.HasPrefix(r.Counter, link) && r.Expect != driver.NoTraffic })
	if l.Split() || !used {
		return nil
	}
	events := []driver.Event{linkDown(l), policyAdded(l.B)}
	if len(pairs) > 0 && slices.ContainsFunc(pairs[0].Server.Dial, func(a netip.AddrPort) bool { return slices.Contains(l.B.Addr, a.Addr()) }) {
		events = append(events, routeChange(l), linkLost(l))
	}
	return events
}

// linkDown takes the device of the server's host on the underlay down for linkDownTime, so that the client's host loses the carrier.
// What the kernel removes with it, such as routes, is added again.
func linkDown(l *lab.Lab) driver.Event {
	hosts := []*lab.Host{l.A, l.B}
	return driver.Event{
		Name: LinkDown, Title: fmt.Sprintf("the link between the hosts is down for %s", linkDownTime), Flaps: true,
		State: func(context.Context) (driver.Counters, error) {
			out := driver.Counters{}
			for _, h := range hosts {
				if err := readCarrierChanges(out, h); err != nil {
					return nil, err
				}
			}
			return out, nil
		},
		Do: func(ctx context.Context) (func(context.Context) error, error) {
			restore, err := l.B.NS.Links().Down(l.B.Underlay)
			undo := func(context.Context) error { return nil }
			if restore != nil {
				undo = func(context.Context) error { return restore() }
			}
			if err != nil {
				return undo, err
			}
			down := time.Now()
			err = checkNoCarrier(l.A)
			select {
			case <-time.After(linkDownTime - time.Since(down)):
			case <-ctx.Done():
				err = errors.Join(err, context.Cause(ctx))
			}
			return undo, errors.Join(err, restore())
		},
		Happened: func(before, after driver.Counters) error {
			for _, h := range hosts { // down and up
				if err := driver.Moved(before, after, onUnderlay(h, driver.CarrierChanges), 2); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// readCarrierChanges adds the counter of the carrier changes of a host's device on the underlay to the others, if the kernel has it.
func readCarrierChanges(to driver.Counters, h *lab.Host) error {
	all, err := h.NS.Links().CarrierChanges()
	if n, known := all[h.Underlay]; err == nil && known {
		to[onUnderlay(h, driver.CarrierChanges)] = n
	}
	return err
}

// checkNoCarrier returns an error if a host's device on the underlay has a carrier.
func checkNoCarrier(h *lab.Host) error {
	running, err := h.NS.Links().HasCarrier(h.Underlay)
	if err == nil && running {
		err = fmt.Errorf("%s of host %s still has a carrier: %w", h.Underlay, h.Name, driver.ErrNoEvent)
	}
	return err
}

// policyAdded adds a packet filter of policyRules rules to the server's host, which each packet that arrives there passes.
func policyAdded(h *lab.Host) driver.Event {
	rules, passed := h.Name+"/policy.rules", h.Name+"/policy.passed_packets"
	return driver.Event{
		Name: driver.PolicyAdded, Title: fmt.Sprintf("a packet filter of %d rules is added to the server's host", policyRules),
		State: func(context.Context) (driver.Counters, error) {
			n, packets, err := h.NS.Rules().Policy()
			return driver.Counters{rules: uint64(n), passed: packets}, err //nolint:gosec // a count
		},
		Do: func(context.Context) (func(context.Context) error, error) {
			err := h.NS.Rules().AddPolicy(policyRules, h.Underlay)
			return func(context.Context) error { return h.NS.Rules().RemovePolicy() }, err
		},
		Happened: func(before, after driver.Counters) error {
			return errors.Join(driver.Moved(before, after, rules, policyRules), driver.Moved(before, after, passed, 1))
		},
	}
}
