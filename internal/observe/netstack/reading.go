// Package netstack reads the counters of the network stack of the calling network
// namespace: those of its protocols, devices, sockets and connection tracking. It reads
// only procfs, so that an agent in any container can do it; callers that can use netlink
// add its counters (see [Reading.Set]).
//
// An unreadable source is recorded as one [Gap], and its counters are absent: an unknown
// counter is never 0.
package netstack

import (
	"fmt"
	"slices"
	"strings"
)

// Reading is the counters of one network stack. Names of counters are
//
//	Udp.RcvbufErrors            /proc/net/snmp, netstat and snmp6: protocol and name as there
//	                            (snmp6's are Ip6., Icmp6. and Udp6.)
//	dev/eth0.tx_dropped         a device: rx_packets, rx_errors, rx_dropped, tx_packets, ...
//	conntrack.insert_failed     connection tracking of the namespace, all CPUs
//	softnet.dropped             the backlogs of all CPUs of the machine; softnet.squeezed
//	socket/udp:5201#7001.drops  a socket, by its local port and inode
//	qdisc/eth0 tbf.drops        a device's queueing discipline (netlink); also overlimits; bytes of a shaper
//	rule/inet tare forward 7.packets   a firewall rule that drops (netlink)
//	nic/eth0.no_buffer.rx_missed_errors   a network card's own statistic: see package nic
type Reading struct {
	Boot     string            `json:"boot,omitempty"` // the kernel's boot id: endpoints with the same one share a kernel
	NS       string            `json:"ns,omitempty"`   // inode of the network namespace
	Counters map[string]uint64 `json:"counters,omitempty"`
	Kinds    map[string]string `json:"kinds,omitempty"`  // of devices, such as veth; only if they could be read
	Pressure map[string]string `json:"strain,omitempty"` // of the machine: see observe.Strain
	Gaps     []Gap             `json:"gaps,omitempty"`
	Shapers  []Shaper          `json:"shapers,omitempty"` // its token buckets (netlink)
	// Unresolved are the IPv4 neighbours that have not answered, such as "198.18.0.2 on eth0".
	Unresolved []string `json:"unresolved,omitempty"`
}

// Shaper is a token bucket that limits what a device sends. The counter qdisc/DEVICE KIND.bytes has what
// passed it.
type Shaper struct {
	Device string `json:"device"`
	Kind   string `json:"kind"`  // such as tbf
	Rate   uint64 `json:"rate"`  // bit/s
	Burst  uint64 `json:"burst"` // bytes that pass at once after a pause
}

// Passed is the name of the counter of the bytes that passed it.
func (s Shaper) Passed() string { return "qdisc/" + s.Device + " " + s.Kind + ".bytes" }

// The counters of how often, and for how many nanoseconds, the control group of the process that
// reads was stopped because its CPU limit was used up. Only an agent sets them.
const (
	ThrottledPeriods = "cpu.throttled_periods"
	ThrottledTime    = "cpu.throttled_ns"
)

// Gap is a source that could not be read.
type Gap struct {
	Source string `json:"what"`
	Reason string `json:"why"`
}

func (g Gap) String() string { return g.Source + ": " + g.Reason }

// Set adds a counter.
func (r *Reading) Set(name string, n uint64) {
	if r.Counters == nil {
		r.Counters = map[string]uint64{}
	}
	r.Counters[name] = n
}

// AddGap records an unreadable source. A nil error records nothing.
func (r *Reading) AddGap(what string, err error) {
	if err == nil {
		return
	}
	if g := (Gap{what, err.Error()}); !slices.Contains(r.Gaps, g) {
		r.Gaps = append(r.Gaps, g)
	}
}

// Deltas are the counter changes between two readings.
type Deltas struct {
	Counters map[string]uint64 // of both readings
	Gaps     []Gap             // of either reading, and of counters that disappeared or decreased
}

// Since returns how much the counters changed since an earlier reading of the same stack. A
// counter that disappeared or decreased is a gap. A counter of a new socket began at 0;
// other new counters are ignored, because their start is unknown. Kernels keep some
// counters in 32 bits, which wrap.
func (r Reading) Since(earlier Reading) Deltas {
	m := Deltas{Counters: map[string]uint64{}, Gaps: slices.Clone(earlier.Gaps)}
	for _, g := range r.Gaps {
		if !slices.Contains(m.Gaps, g) {
			m.Gaps = append(m.Gaps, g)
		}
	}
	if earlier.Boot != r.Boot || earlier.NS != r.NS {
		m.Gaps = append(m.Gaps, Gap{"counters", "the network namespace was replaced during the trial"})
		return m
	}
	gone := map[string]int{}
	var backwards []string
	for name, was := range earlier.Counters {
		is, there := r.Counters[name]
		moved, ok := difference(name, was, is)
		switch {
		case !there && strings.HasPrefix(name, socketPrefix): // the socket was closed, and its last drops are unknown
		case !there:
			gone[group(name)]++
		case !ok:
			backwards = append(backwards, name)
		default:
			m.Counters[name] = moved
		}
	}
	for name, is := range r.Counters {
		if _, known := earlier.Counters[name]; !known && strings.HasPrefix(name, socketPrefix) {
			m.Counters[name] = is
		}
	}
	for _, of := range sortedKeys(gone) {
		m.Gaps = append(m.Gaps, Gap{of, "the counter disappeared during the trial"})
	}
	slices.Sort(backwards)
	for _, name := range backwards {
		m.Gaps = append(m.Gaps, Gap{name, fmt.Sprintf("the counter went backwards, from %d to %d", earlier.Counters[name], r.Counters[name])})
	}
	return m
}

// group returns what a counter belongs to: its device, rule or protocol.
func group(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i]
	}
	return name
}

// narrow lists the name prefixes of the counters that the kernel keeps in 32 bits. Sums of
// them over CPUs wrap in the same way.
func narrow() []string { return []string{"softnet.", "conntrack.", "qdisc/", socketPrefix} }

// difference returns how much a counter changed. A 32-bit counter may have wrapped once; a
// change of more than half its range does not happen in a trial and means that it was
// reset.
func difference(name string, was, is uint64) (uint64, bool) {
	if is >= was {
		return is - was, true
	}
	if slices.ContainsFunc(narrow(), func(p string) bool { return strings.HasPrefix(name, p) }) {
		d := uint32(is) - uint32(was) //nolint:gosec // 32-bit arithmetic, as in the kernel
		return uint64(d), d < 1<<31
	}
	return 0, false
}
