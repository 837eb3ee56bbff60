package driver

import (
	"context"

	"tare/internal/observe/netstack"
)

// NetworkStack is a network stack on a path.
type NetworkStack struct {
	Name   string // host, or host/sandbox
	Shared bool   // carries other traffic too, as an existing host does
	// Read reads its counters. It takes milliseconds, so it must not run during the timed
	// part of a trial. It fails if nothing could be read; individual missing sources are
	// listed in the reading's gaps. Nil if unsupported.
	Read func(ctx context.Context) (netstack.Reading, error)
	// Survey reads the settings of the stack without changing them. Nil if unsupported.
	Survey func(ctx context.Context) (Settings, error)
	// ReadTracked reads the number of connection tracking entries; tracks is false if the
	// stack does not track connections. Nil if unsupported.
	ReadTracked func(ctx context.Context) (t ConnTrack, tracks bool, err error)
}

// Settings are the settings of a network stack on a path.
type Settings struct {
	At string // host, or host/sandbox, as in counter names
	// Sysctls maps paths below /proc/sys, such as net/ipv4/tcp_sack, to values. Variables
	// that the kernel lacks are omitted.
	Sysctls map[string]string
	Filters []Filter
	// NoFilters is why the packet filters are unknown; if empty, Filters is complete.
	NoFilters string
}

// Filter is a chain of packet filter rules that the kernel calls at a hook.
type Filter struct {
	Family string // ip, ip6, inet, arp, bridge or netdev
	Table  string
	Chain  string // empty for a table of legacy iptables, whose chains are not read
	Hook   string // prerouting, input, forward, output, postrouting, ingress; empty for a table of legacy iptables
	Drops  bool   // policy: packets that match no rule are dropped
	Rules  int    // in the chain
	All    int    // in all chains of the chain's table
	Docker bool   // the table has chains created by Docker
}

// ConnTrack is the number of tracked connections and the maximum.
type ConnTrack struct{ Count, Max uint64 }
