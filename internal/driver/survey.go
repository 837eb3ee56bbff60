package driver

import (
	"context"

	"tare/internal/linuxnet"
)

// Surveyor is what a Path may be beside: one whose network stacks can be looked at
// from here, so that what differs between modes, and is not the mode, is seen.
type Surveyor interface {
	// Survey reads how each network stack on the path is set. It changes nothing.
	Survey(ctx context.Context) ([]Stack, error)
	// Tracked reads how full the connection tracking of each stack is, by the name
	// of the stack. Stacks without it are left out.
	Tracked(ctx context.Context) (map[string]Tracked, error)
}

// Stack is how a network stack on a path is set.
type Stack struct {
	At string // host, or host/sandbox, as in names of counters
	// Settings are variables by their paths below /proc/sys, such as
	// net/ipv4/tcp_sack. Those that the kernel does not have there are left out.
	Settings map[string]string
	Filters  []linuxnet.Filter
	// NoFilters says why nothing is known of packet filters; empty: Filters are all.
	NoFilters string
}

// Tracked is how many connections are tracked, and how many can be.
type Tracked struct{ Count, Max uint64 }

// The variables that a Survey reads.
const (
	SysctlCongestion = "net/ipv4/tcp_congestion_control"
	SysctlBridgeIPv4 = "net/bridge/bridge-nf-call-iptables"
	SysctlTracked    = "net/netfilter/nf_conntrack_count"
	SysctlTrackedMax = "net/netfilter/nf_conntrack_max"
)

// SocketSettings are the variables that decide what a socket of an ordinary program
// is given, and so what such a program would reach.
func SocketSettings() []string {
	return []string{
		SysctlCongestion, "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/core/rmem_max", "net/core/wmem_max", "net/core/rmem_default", "net/core/wmem_default",
		"net/ipv4/tcp_sack", "net/ipv4/tcp_timestamps", "net/ipv4/tcp_window_scaling", "net/ipv4/tcp_ecn", "net/ipv4/tcp_mtu_probing",
		"net/ipv4/tcp_slow_start_after_idle", "net/ipv4/tcp_autocorking", "net/core/default_qdisc",
	}
}

// Surveyed are all variables that a Survey reads.
func Surveyed() []string {
	return append(SocketSettings(), SysctlBridgeIPv4, SysctlTrackedMax)
}
