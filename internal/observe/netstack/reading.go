// Package netstack reads the counters of one network stack, that of the network
// namespace it is called in: what its protocols, devices, sockets and connection
// tracking have counted since they were made. It reads procfs and nothing else, so
// that an agent in any container can do it; what needs netlink is added by whoever
// has that (see [Reading.Set]).
//
// A source that cannot be read is a [Gap], once, and its counters are absent: an
// unknown counter is never 0.
package netstack

import (
	"fmt"
	"slices"
	"strings"
)

// Reading is what was found of one network stack. Names of counters are
//
//	Udp.RcvbufErrors            /proc/net/snmp, netstat and snmp6: protocol and name as there
//	                            (snmp6's are Ip6., Icmp6. and Udp6.)
//	dev/eth0.tx_dropped         a device: rx_packets, rx_errors, rx_dropped, tx_packets, ...
//	conntrack.insert_failed     connection tracking of the namespace, all CPUs
//	softnet.dropped             the backlogs of all CPUs of the machine; softnet.squeezed
//	socket/udp:5201#7001.drops  a socket, by its local port and inode
//	qdisc/eth0 tbf.drops        a device's queueing discipline (netlink); also overlimits
//	rule/inet tare forward 7.packets   a firewall rule that drops (netlink)
type Reading struct {
	Boot     string            `json:"boot,omitempty"` // the kernel's boot id: two ends with one share a kernel
	NS       string            `json:"ns,omitempty"`   // inode of the network namespace
	Counters map[string]uint64 `json:"counters,omitempty"`
	Kinds    map[string]string `json:"kinds,omitempty"`  // of devices, such as veth; only where they could be asked
	CPU      string            `json:"cpu,omitempty"`    // the cpu lines of the machine's /proc/stat
	Pressure map[string]string `json:"strain,omitempty"` // of the machine: see observe.Strain
	Gaps     []Gap             `json:"gaps,omitempty"`
}

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

// AddGap notes a source that could not be read. A nil error notes nothing.
func (r *Reading) AddGap(what string, err error) {
	if err == nil {
		return
	}
	if g := (Gap{what, err.Error()}); !slices.Contains(r.Gaps, g) {
		r.Gaps = append(r.Gaps, g)
	}
}

// Deltas is how far counters moved between two readings.
type Deltas struct {
	Counters map[string]uint64 // of both readings
	Gaps     []Gap             // of either, and of what vanished or ran backwards meanwhile
}

// Since gives how far the counters moved since an earlier reading of the same
// stack. A counter that is gone, or that ran backwards, tells nothing and is a gap.
// One of a socket that is new began at 0; other new ones are passed over, because
// nobody knows since when they count. Kernels keep some counters in 32 bits: those
// wrap.
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
		case !there && strings.HasPrefix(name, socketPrefix): // it was closed; what it dropped at the end nobody knows
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
		m.Gaps = append(m.Gaps, Gap{of, "it vanished during the trial"})
	}
	slices.Sort(backwards)
	for _, name := range backwards {
		m.Gaps = append(m.Gaps, Gap{name, fmt.Sprintf("it ran backwards, from %d to %d", earlier.Counters[name], r.Counters[name])})
	}
	return m
}

// group is what a counter belongs to: its device, rule or protocol.
func group(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i]
	}
	return name
}

// narrow lists the counters that the kernel keeps in 32 bits, by their beginnings.
// Several such of different CPUs add up and wrap just as well.
func narrow() []string { return []string{"softnet.", "conntrack.", "qdisc/", socketPrefix} }

// difference is how far a counter moved. One of 32 bits may have wrapped once; by
// more than half of its range none moves in a trial, and then it was reset.
func difference(name string, was, is uint64) (uint64, bool) {
	if is >= was {
		return is - was, true
	}
	if slices.ContainsFunc(narrow(), func(p string) bool { return strings.HasPrefix(name, p) }) {
		d := uint32(is) - uint32(was) //nolint:gosec // arithmetic of 32 bits is what the kernel does
		return uint64(d), d < 1<<31
	}
	return 0, false
}
