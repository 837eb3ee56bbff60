package remote

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/agent"
	"tare/internal/result"
	"tare/internal/warning"
)

// Impassable is the error that the path between two hosts does not carry TCP as a trial
// needs it: nothing was measured.
type Impassable struct{ Reason string }

func (i *Impassable) Error() string { return i.Reason }

// FactsOf returns what the probes found in the directions from a host, one fact for each
// address family.
func (r PathReport) FactsOf(host string) (out []result.Fact) {
	for i := range r.Legs {
		if l := &r.Legs[i]; l.From.At == host {
			name := fmt.Sprintf("path_to_%s_%s", l.To.At, strings.ToLower(l.Family()))
			out = append(out, result.Fact{Name: name, Value: l.text()})
		}
	}
	return out
}

// text describes a leg in one line.
func (l *Leg) text() string {
	parts := []string{"TCP " + passes(l.TCP), "UDP " + passes(l.UDP)}
	if s := l.Sizes; s == nil {
		parts = append(parts, "largest packet unknown: "+l.NoSizes.Error())
	} else {
		parts = append(parts, fmt.Sprintf("largest packet %d of %d bytes", s.Largest, l.MTU))
		if s.Lost > 0 {
			parts = append(parts, l.largerOnes())
		}
		if lost := l.lost(); lost != "" {
			parts = append(parts, lost)
		}
	}
	switch s := l.Stream; {
	case s == nil:
		parts = append(parts, "data unknown: "+l.NoStream.Error())
	case s.BadAt != nil:
		parts = append(parts, fmt.Sprintf("data changed at byte %d", *s.BadAt))
	case !s.Complete:
		parts = append(parts, fmt.Sprintf("data stopped after %d bytes: %s", s.Received, s.Failure))
	default:
		text := fmt.Sprintf("%d bytes arrived unchanged", s.Received)
		if s.MSS > 0 {
			text += fmt.Sprintf(" in segments of %d", s.MSS)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// leastLost is from how many unanswered packets of a probe, of both sizes together, on a path is lossy: 1 %.
const leastLost = 4

// lost says how many packets were lost there or back, empty if none were.
func (l *Leg) lost() string {
	s := l.Sizes
	if s == nil || s.Unanswered == [2]int{} {
		return ""
	}
	return fmt.Sprintf("%d of %d small packets and %d of %d of %d bytes lost there or back", s.Unanswered[0], s.Probed, s.Unanswered[1], s.Probed, s.Largest)
}

func passes(err error) string {
	switch {
	case err == nil:
		return "passes"
	case cannotListen(err):
		return "unknown"
	}
	return "does not pass"
}

// swallowed reports whether packets that are too large are lost without a report: routers
// told nothing, or of a larger size only.
func (l *Leg) swallowed() bool {
	s := l.Sizes
	return s != nil && s.Lost > 0 && (!s.Reported || s.ReportedMTU > s.Largest)
}

// largerOnes says what becomes of packets that are too large.
func (l *Leg) largerOnes() string {
	switch s := l.Sizes; {
	case l.swallowed() && s.ReportsUnseen != "":
		return "larger ones are lost without a report, as far as can be seen: " + s.ReportsUnseen
	case l.swallowed():
		return "larger ones are lost without a report"
	case s.ReportedMTU > 0:
		return fmt.Sprintf("larger ones are reported with an MTU of %d", s.ReportedMTU)
	}
	return "larger ones are reported"
}

// Err returns an *Impassable if the path cannot carry trials: the client's host cannot
// connect to the server's in any family, or full-size segments of a family do not arrive or
// arrive changed.
func (r PathReport) Err() error {
	var refused []string
	reached := len(r.Legs) == 0
	for i := range r.Legs {
		l := &r.Legs[i]
		if forward := i%2 == 0; forward && l.TCP != nil {
			refused = append(refused, fmt.Sprintf("%s: %v", l, l.TCP))
		} else if forward {
			reached = true
		}
	}
	if !reached {
		return &Impassable{fmt.Sprintf("cannot carry TCP from %s; check the firewalls of both hosts and the route between them", strings.Join(refused, "; "))}
	}
	for i := range r.Legs {
		switch l := &r.Legs[i]; {
		case l.Stream == nil || l.Stream.Complete:
		case l.Stream.BadAt != nil:
			return &Impassable{fmt.Sprintf("data from %s arrives changed, first at byte %d, although its checksums are right: a device on the path damages packets; "+
				"turn off the checksum and segmentation offloads of both hosts (`ethtool -K DEVICE tx off rx off tso off gro off`) to find which", l, *l.Stream.BadAt)}
		default:
			return &Impassable{fmt.Sprintf("TCP from %s connects and then stops after %d bytes (%s): %s", l, l.Stream.Received, l.Stream.Failure, l.whyStopped())}
		}
	}
	return nil
}

// whyStopped explains a stream that stopped, with the fix.
func (l *Leg) whyStopped() string {
	if l.swallowed() {
		return fmt.Sprintf("packets above %d bytes are lost without a report; set the MTU of the device of host %s%s to %d, or let the routers between the hosts send ICMP",
			l.Sizes.Largest, l.From.At, orEmpty(l.Device), l.Sizes.Largest)
	}
	return "large segments are lost; check the offloads of both hosts (`ethtool -K DEVICE tso off gso off`) and the firewall between them"
}

func orEmpty(device string) string {
	if device == "" {
		return ""
	}
	return " (" + device + ")"
}

// cannotListen reports whether a probe failed at the host that receives it.
func cannotListen(err error) bool {
	var l *agent.ListenError
	return errors.As(err, &l)
}

// telling is how findings are told: in the scope of a run or of a mode, with the noun before the name of an end, and with how the MTU
// of what sends is described and set.
type telling struct {
	scope, noun string
	mtu         func(l *Leg) string
	set         func(mtu int) string
}

// ofMachines tells of two machines.
func ofMachines() telling {
	return telling{
		scope: "run", noun: "host ",
		mtu: func(l *Leg) string { return fmt.Sprintf("the device%s has an MTU of %d", orEmpty(l.Device), l.MTU) },
		set: func(mtu int) string { return fmt.Sprintf("Set the MTU of both hosts to %d.", mtu) },
	}
}

func (t telling) warn(code warning.Code, format string, args ...any) result.Warning {
	return warning.New(code, t.scope, format, args...)
}

// Warnings returns what the probes found that a reader of the results must know.
func (r PathReport) Warnings() (out []result.Warning) {
	t := ofMachines()
	for i := range r.Legs {
		l := &r.Legs[i]
		out = append(out, l.blocked(t)...)
		out = append(out, l.sizes(t)...)
		if s := l.Sizes; s != nil && s.Unanswered[0]+s.Unanswered[1] >= leastLost {
			out = append(out, t.warn(warning.PathLossy, "the path from %s loses packets before any trial: %s, %.3g %% of all. TCP slows down and exchanges wait for retransmissions in every mode, so values are those of the loss. "+
				"Look for full queues, bad cables and rate limits between the hosts.", l, l.lost(), warning.Said(100*float64(s.Unanswered[0]+s.Unanswered[1])/float64(2*s.Probed))))
		}
		if l.UDP == nil && l.NoSizes != nil {
			out = append(out, t.warn(warning.NotObserved, "cannot probe the path from %s with large packets: %v", l, l.NoSizes))
		}
		if l.TCP == nil && l.NoStream != nil {
			out = append(out, t.warn(warning.NotObserved, "cannot probe the path from %s with a stream: %v", l, l.NoStream))
		}
	}
	return append(out, r.damaged(t)...)
}

// blocked tells that a leg does not pass TCP or UDP.
func (l *Leg) blocked(t telling) []result.Warning {
	why := errors.Join(l.TCP, l.UDP)
	if why == nil {
		return nil
	}
	if cannotListen(why) {
		return []result.Warning{t.warn(warning.NotObserved, "cannot probe the path from %s, because host %s cannot listen: %s", l, l.To.At, strings.ReplaceAll(why.Error(), "\n", "; "))}
	}
	what, why := "neither TCP nor UDP passes", l.TCP
	switch {
	case l.TCP == nil:
		what, why = "UDP does not pass", l.UDP
	case l.UDP == nil:
		what = "TCP does not pass"
	}
	return []result.Warning{t.warn(warning.DirectionBlocked, "%s from %s (%v): workloads and tunnels that need it fail. Open it in the firewalls of both hosts and between them.", what, l, why)}
}

// sizes tells which packets a leg changes or does not pass.
func (l *Leg) sizes(t telling) (out []result.Warning) {
	s := l.Sizes
	if s == nil {
		return nil
	}
	if s.Changed > 0 {
		out = append(out, t.warn(warning.PacketsDamaged, "datagrams of %d bytes and more arrive changed from %s although their checksums are right: every result over this path is in doubt. "+
			"Turn off the offloads of both hosts to find the device that damages them.", s.Changed, l))
	}
	switch {
	case s.Lost == 0:
	case l.swallowed():
		tcp := "TCP stops"
		if l.Stream != nil && l.Stream.Complete {
			tcp = "TCP passes only because its segments are smaller"
		}
		out = append(out, t.warn(warning.LargePacketsLost, "packets above %d bytes from %s are lost without a report although %s: datagrams and tunnels of that size lose everything, "+
			"and %s. %s", warning.Said(s.Largest), l, t.mtu(l), tcp, t.set(s.Largest)))
	default:
		out = append(out, t.warn(warning.PathMTUSmaller, "the path from %s passes packets of at most %d bytes, and %s: routers report it, so the first large packets are lost "+
			"and then smaller ones are sent. %s", l, warning.Said(s.Largest), t.mtu(l), t.set(s.Largest)))
	}
	return out
}

// damaged tells who received packets with a wrong checksum.
func (r PathReport) damaged(t telling) (out []result.Warning) {
	for _, host := range slices.Sorted(maps.Keys(r.BadChecksums)) {
		if n := r.BadChecksums[host]; n > 0 {
			out = append(out, t.warn(warning.PacketsDamaged, "%s%s received %d packets with a wrong checksum during the probes: the path or the other host's checksum offload damages packets, which are lost. "+
				"Turn off its transmit checksums (`ethtool -K DEVICE tx off`) to see whether it is the offload.", t.noun, host, n))
		}
	}
	return out
}
