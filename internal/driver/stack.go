package driver

import (
	"context"

	"tare/internal/observe/netstack"
)

// NetworkStack is a network stack of a path.
type NetworkStack struct {
	Name   string // host, or host/sandbox
	Shared bool   // others have traffic there too, as on a host that is not the run's own
	// Read reads its counters. It takes milliseconds and is not for while traffic is
	// timed. An error means that none could be read; what single sources lack is among
	// the reading's gaps. Nil where nobody can.
	Read func(ctx context.Context) (netstack.Reading, error)
	// Survey reads how the stack is set. It changes nothing. Nil where nobody can.
	Survey func(ctx context.Context) (Settings, error)
	// ReadTracked reads how full its connection tracking is; tracks is false where it
	// tracks no connections. Nil where nobody can.
	ReadTracked func(ctx context.Context) (t ConnTrack, tracks bool, err error)
}

// Settings are how a network stack on a path is set.
type Settings struct {
	At string // host, or host/sandbox, as in names of counters
	// Sysctls are variables by their paths below /proc/sys, such as net/ipv4/tcp_sack.
	// Those that the kernel does not have there are left out.
	Sysctls map[string]string
	Filters []Filter
	// NoFilters says why nothing is known of packet filters; empty: Filters are all.
	NoFilters string
}

// Filter is a chain of packet filter rules that the kernel calls at a hook.
type Filter struct {
	Family string // ip, ip6, inet, arp, bridge or netdev
	Table  string
	Chain  string // empty for a table of the old iptables, whose chains are not told
	Hook   string // prerouting, input, forward, output, postrouting, ingress; empty for a table of the old iptables
	Drops  bool   // its policy: what no rule has decided is dropped
	Rules  int    // in the chain
	All    int    // in the chain's table, all of its chains together
	Docker bool   // the table has chains of Docker's
}

// ConnTrack is how many connections are tracked, and how many can be.
type ConnTrack struct{ Count, Max uint64 }
