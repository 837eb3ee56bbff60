package losses

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/unit"
)

// Failure is what was read around traffic that failed: a trial, or the probe of a path.
type Failure struct {
	Stacks []Stack
	// Counted are the losses by the counts of the endpoints; nil if they reported none. The counts
	// of their network stacks are then used.
	Counted *result.Losses
	Size    int // of each packet, in bytes; 0 if they differ or if it is unknown
}

// State is the state of a stack after traffic failed, as far as it could be read.
type State struct {
	NoForwarding   bool     // IPv4 packets for others are not forwarded
	Tracked, Limit uint64   // connections that are tracked, and may be; Limit is 0 if unknown
	Unresolved     []string // neighbours that did not answer, such as "198.18.0.2 on eth0"
	Policies       []string // chains whose policy drops packets, such as "ip filter FORWARD"
}

// minShare is the share of packets from which a loss is a cause of a failure, mostPlaces is how many
// places a cause names, and minOfLargest the share of the largest from which it names another: the
// counters of IP miss a packet or two at their edges.
const (
	minShare     = 0.0005
	mostPlaces   = 3
	minOfLargest = 0.1
)

// superPacket is how many segments a super-packet of 64 KiB carries at most. A place that drops it counts one.
const superPacket = 45

// Cause names where the packets were dropped and why, as in "4,227 of 4,227 datagrams of 1,428
// bytes dropped on b by rule 2 of ip filter FORWARD". It is empty if nothing was lost.
func (f Failure) Cause() string {
	l, what := f.losses()
	doubt := minOfLargest
	if what != datagrams {
		doubt = 1 // a connection sends again what was late only, too
	}
	var parts []string
	var explained int64
	places := slices.Clone(l.Places)
	slices.SortStableFunc(places, func(a, b result.LossPlace) int { return cmp.Compare(b.Count, a.Count) })
	for _, p := range places {
		if float64(p.Count) < max(l.share(), minOfLargest*float64(places[0].Count)) || len(parts) == mostPlaces {
			break
		}
		if p.Counter == vanished && float64(p.Count) < minOfLargest*float64(l.Lost) {
			continue // the edges of IP's counters
		}
		explained += p.Count
		parts = append(parts, f.count(p.Count, l.Sent, what, len(parts) == 0)+" dropped "+f.place(p))
	}
	silent := false
	for _, s := range f.Stacks {
		for _, n := range s.State.Unresolved {
			silent = true
			parts = append(parts, "no neighbour answers for "+n+" of "+s.Name)
		}
	}
	switch lost := l.Lost - explained; {
	case silent || float64(lost) <= l.share() || float64(lost) <= float64(explained)*doubt:
	case what != datagrams && lost <= explained*(superPacket-1):
		parts = append(parts, f.count(lost, l.Sent, what, false)+" more were lost: there too if those were super-packets, of which each counts as one, or where no counter is")
	default:
		parts = append(parts, f.unexplained(lost, l.Losses, what, len(parts) == 0))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(append(parts, f.icmp()...), "; ")
}

// datagrams is what the endpoints count of a workload over UDP.
const datagrams = "datagrams"

// counted are losses of which the unit is known.
type counted struct{ result.Losses }

// share is the number of packets from which a loss matters.
func (c counted) share() float64 { return minShare * float64(c.Sent) }

// losses returns the losses of the endpoints, or else of their network stacks.
func (f Failure) losses() (l counted, what string) {
	if f.Counted != nil && f.Counted.Sent > 0 {
		return counted{*f.Counted}, datagrams
	}
	own := func(s Stack) bool { return s.Sockets != nil && !s.Shared }
	what = "packets"
	if !slices.ContainsFunc(f.Stacks, own) {
		own, what = func(s Stack) bool { return s.Sockets != nil }, "packets of all programs"
	}
	var sent, received uint64
	for _, s := range f.Stacks {
		if own(s) {
			sent += s.delta("Tcp.OutSegs", "Tcp.RetransSegs", "Udp.OutDatagrams", "Udp6.OutDatagrams", "Udp.SndbufErrors", "Udp6.SndbufErrors") // a queue that drops a datagram has it counted as the last
			received += s.delta("Tcp.OutSegs", "Udp.InDatagrams", "Udp6.InDatagrams")
		}
	}
	in := Input{Stacks: f.Stacks, Sent: int64(min(sent, math.MaxInt64)), Received: int64(min(sent, received, math.MaxInt64))} //nolint:gosec // bounded
	return counted{Attribute(in)}, what
}

// Carried says what the endpoints sent by the counts of their own network stacks, for a failure without a loss. It is
// empty if no stack is only theirs.
func (f Failure) Carried() string {
	var parts []string
	for _, s := range f.Stacks {
		if s.Sockets != nil && !s.Shared {
			sent := s.delta("Tcp.OutSegs", "Udp.OutDatagrams", "Udp6.OutDatagrams")
			parts = append(parts, s.Name+" sent "+unit.Grouped(int64(min(sent, math.MaxInt64)))) //nolint:gosec // bounded
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "no counter shows a lost packet: " + strings.Join(parts, ", ")
}

// Totals are the losses by the counts of the endpoints' network stacks.
func (f Failure) Totals() result.Losses {
	f.Counted = nil
	l, _ := f.losses()
	return l.Losses
}

// count is how many of how many packets.
func (f Failure) count(n, of int64, what string, first bool) string {
	if n > of && n <= of+of/100+minICMP { // the handshake's packets were dropped, too
		n = of
	}
	text := unit.Grouped(n)
	if n <= of {
		text += " of " + unit.Grouped(of)
	}
	if !first {
		return text
	}
	text += " " + what
	if f.Size > 0 {
		text += " of " + unit.Grouped(int64(f.Size)) + " bytes"
	}
	return text
}

// place is where packets were dropped, and by what.
func (f Failure) place(p result.LossPlace) string {
	i := slices.IndexFunc(f.Stacks, func(s Stack) bool { return s.Name == p.Where })
	var s State
	if i >= 0 {
		s = f.Stacks[i].State
	}
	return "on " + p.Where + " by " + s.what(p)
}

// what is the part of a stack that dropped packets, by the counter that shows it.
func (s State) what(p result.LossPlace) string {
	family, name, _ := strings.Cut(p.Counter, "/")
	switch family {
	case "rule":
		table, handle := cutLast(strings.TrimSuffix(name, ".packets"), " ")
		return "rule " + handle + " of " + table
	case "qdisc":
		device, kind, _ := strings.Cut(strings.TrimSuffix(name, ".drops"), " ")
		return "the queueing discipline " + kind + " of " + device
	case "dev":
		device, counter := cutLast(name, ".")
		return device + " (" + counter + ")"
	}
	switch p.Counter {
	case "conntrack.drop":
		if s.Limit > 0 && s.Tracked*100 >= s.Limit*95 {
			return fmt.Sprintf("connection tracking, whose table is full (%s of %s entries; raise net.netfilter.nf_conntrack_max)", unit.Grouped(int64(s.Tracked)), unit.Grouped(int64(s.Limit))) //nolint:gosec // a size of a table
		}
		return "connection tracking (conntrack.drop): its table was full, or no port was left for address translation"
	case "conntrack.insert_failed":
		return "connection tracking, which could not insert their entry (conntrack.insert_failed): no port was left for address translation, or two packets of one flow came at once"
	case "Ip.InAddrErrors", "Ip6.InAddrErrors":
		if s.NoForwarding || p.Counter == "Ip6.InAddrErrors" {
			return "IP, which does not forward (" + p.Counter + "): turn on forwarding (net.ipv4.ip_forward, net.ipv6.conf.all.forwarding)"
		}
		return "IP: the address is not one of this host's, or the device does not forward (" + p.Counter + ")"
	case "Ip.FragFails", "Ip6.FragFails", "Ip6.InTooBigErrors":
		return "IP, because they exceed the MTU of the next link and must not be fragmented (" + p.Counter + ")"
	case "Ip.OutNoRoutes", "IpExt.InNoRoutes", "Ip6.OutNoRoutes", "Ip6.InNoRoutes":
		return "IP, because there is no route (" + p.Counter + ")"
	case "TcpExt.IPReversePathFilter":
		return "the reverse path filter (net.ipv4.conf.*.rp_filter)"
	case "Udp.RcvbufErrors", "SO_MEMINFO drops":
		return "the receive buffer, which was full"
	case vanished:
		if len(s.Policies) > 0 {
			return "the policy of the chain " + strings.Join(s.Policies, " or ")
		}
		return "the packet filter, with a rule that has no counter"
	}
	return result.LossTitle(p.Place) + " (" + p.Counter + ")"
}

// unexplained is about packets that were lost where no counter is.
func (f Failure) unexplained(lost int64, l result.Losses, what string, first bool) string {
	var names, policies []string
	for _, s := range f.Stacks {
		names = append(names, s.Name)
		for _, chain := range s.State.Policies {
			policies = append(policies, chain+" of "+s.Name)
		}
	}
	text := fmt.Sprintf("%s (%s %%) lost where none of the counters of %s shows it: on the link, or by a filter or bridge without a counter",
		f.count(lost, l.Sent, what, first), Percent(float64(lost)/float64(l.Sent)), strings.Join(names, ", "))
	if len(policies) > 0 {
		text += "; packets are dropped by the policy of " + strings.Join(policies, ", ")
	}
	if len(l.Reasons) > 0 {
		text += "; the kernel's reason is " + l.Reasons[0].Reason
	}
	return text
}

// icmp says which errors the endpoints were sent.
func (f Failure) icmp() (parts []string) {
	for _, s := range f.Stacks {
		if s.Sockets == nil || s.Shared {
			continue
		}
		if n := s.delta("Icmp.InDestUnreachs", "Icmp6.InDestUnreachs", "Icmp6.InPktTooBigs"); n > minICMP {
			parts = append(parts, fmt.Sprintf("%s received %s ICMP errors (destination unreachable, or packet too big)", s.Name, unit.Grouped(int64(n)))) //nolint:gosec // a count of packets
		}
	}
	return parts
}

// minICMP is the number of ICMP errors that the end of a trial may cause, when ports close.
const minICMP = 2

// Percent is a share from 0 to 1 in percent, to two digits, and to three from 10 % on.
func Percent(share float64) string {
	if share >= 0.1 {
		return fmt.Sprintf("%.3g", 100*share)
	}
	return fmt.Sprintf("%.2g", 100*share)
}

// cutLast cuts a text at the last separator.
func cutLast(s, sep string) (before, after string) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+len(sep):]
}
