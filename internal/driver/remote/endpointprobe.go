package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/result"
	"tare/internal/timelimit"
	"tare/internal/warning"
)

// The time limits of the probes between two endpoints: of all, for an answer, and without progress. The endpoints have reached each other
// before, so an answer comes at once or never.
func endpointTime() time.Duration  { return timelimit.Scaled(2 * time.Second) }
func endpointReach() time.Duration { return timelimit.Scaled(300 * time.Millisecond) }
func endpointStall() time.Duration { return timelimit.Scaled(500 * time.Millisecond) }

// EndpointProbe returns a [driver.Path.Probe] for a path. It probes from the client to the server as a trial connects and then,
// in the time that is left, from the server to the client's own address, in each address family. mtuKey is where the MTU of the
// mode's network is set, in Markdown.
func EndpointProbe(spec *pathspec.Path, mtuKey string) func(ctx context.Context, client, server *agent.Client) ([]result.Fact, []result.Warning) {
	return func(ctx context.Context, client, server *agent.Client) ([]result.Fact, []result.Warning) {
		r := probeEndpoints(ctx, spec.Pairs()[0], client, server)
		return r.notProbed(), r.endpointWarnings(spec.Mode, mtuKey)
	}
}

func probeEndpoints(ctx context.Context, pair driver.Pair, client, server *agent.Client) PathReport {
	how := probing{reach: endpointReach(), stall: endpointStall(), whole: endpointTime(), end: time.Now().Add(endpointTime())}
	from, to := endpointOf(pair.Client, client), endpointOf(pair.Server, server)
	var there, back []Leg
	for i, dial := range pair.Server.Dial {
		there = append(there, Leg{From: from, To: to, Listen: pair.Server.Listen[i], Dial: dial, how: how})
		if _, own, err := client.Route(ctx, dial.Addr()); err == nil && own.IsValid() {
			at := netip.AddrPortFrom(own, pathspec.ServerChoosesPort)
			back = append(back, Leg{From: to, To: from, Listen: at, Dial: at, how: how})
		}
	}
	before := checksums(ctx, from, to)
	probeLegs(ctx, there)
	probeLegs(ctx, back)
	return PathReport{Legs: append(there, back...), BadChecksums: checksums(ctx, from, to).since(before)}
}

// endpointOf returns an endpoint, with its agent, as a host of a path.
func endpointOf(e driver.Endpoint, a *agent.Client) *Host {
	return &Host{Place: pathspec.Place{At: e.Name, Host: e.Host}, Launcher: e.Launcher, Monitor: a}
}

// notProbed returns a fact that says what could not be probed, and why; none if everything was.
func (r PathReport) notProbed() []result.Fact {
	var parts []string
	add := func(l *Leg, what string, err error, none string) {
		why := none
		switch {
		case err == nil:
			return
		case errors.Is(err, errNoTime):
			why = errNoTime.Error()
		case none == "":
			why = "the probe failed"
		}
		parts = append(parts, fmt.Sprintf("%s from %s (%s)", what, l, why))
	}
	for i := range r.Legs {
		l := &r.Legs[i]
		if l.TCP != nil && l.UDP != nil {
			add(l, "the path", l.TCP, cmp.Or(passesNot(l.TCP, "TCP"), passesNot(l.UDP, "UDP")))
			continue
		}
		add(l, "large packets", l.NoSizes, passesNot(l.UDP, "UDP"))
		add(l, "data", l.NoStream, passesNot(l.TCP, "TCP"))
		if s := l.Stream; s != nil && !s.Complete && s.BadAt == nil && s.Received > 0 {
			parts = append(parts, fmt.Sprintf("all data from %s (the path is too slow for the time of a probe)", l))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []result.Fact{{Name: "not probed", Value: strings.Join(parts, ", ")}}
}

// passesNot says why a protocol did not pass, empty if it did.
func passesNot(err error, protocol string) string {
	switch {
	case err == nil:
		return ""
	case cannotListen(err):
		return "no port could be opened"
	}
	return protocol + " had no answer"
}

// endpointWarnings returns what the probes found that a reader of the results of a mode must know.
func (r PathReport) endpointWarnings(mode, mtuKey string) (out []result.Warning) {
	t := telling{
		scope: mode,
		mtu:   func(l *Leg) string { return fmt.Sprintf("the route%s has an MTU of %d", orEmpty(l.Device), l.MTU) },
		set: func(mtu int) string {
			return fmt.Sprintf("Set the MTU of the network to %d (%s), or let the ICMP messages about packets that are too big pass.", mtu, mtuKey)
		},
	}
	for i := range r.Legs {
		l := &r.Legs[i]
		out = append(out, l.sizes(t)...)
		switch s := l.Stream; {
		case s == nil || s.Complete:
		case s.BadAt != nil:
			out = append(out, t.warn(warning.PacketsDamaged, "data from %s arrives changed, first at byte %d, although its checksums are right: every result over this path is in doubt. "+
				"Turn off the checksum and segmentation offloads of the devices on the path (`ethtool -K DEVICE tx off rx off tso off gro off`) to find which damages it.", l, *s.BadAt))
		case s.Received == 0 && !l.swallowed():
			out = append(out, t.warn(warning.LargePacketsLost, "TCP from %s connects, and no full-size segment arrives: streams stop, and messages that need several packets. "+
				"Check the segmentation offloads of the devices on the path (`ethtool -K DEVICE tso off gso off`) and the packet filters of the hosts.", l))
		}
	}
	return append(out, r.damaged(t)...)
}
