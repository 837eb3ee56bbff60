// Package here reads what the kernel tells of the network namespace that this thread is in: devices,
// routes, packet filters. It changes nothing. An agent links it, so it sends its few requests itself
// and imports no library of netlink.
package here

// Filter is a chain of packet filter rules that the kernel calls at a hook. Rules is the
// number of rules in the chain; All is the number in the whole table, whose other chains
// are called by its rules.
type Filter struct {
	Family string // ip, ip6, inet, arp, bridge or netdev
	Table  string
	Chain  string // empty for a table of legacy iptables, whose chains are not read
	Hook   string // prerouting, input, forward, output, postrouting, ingress; empty for a table of legacy iptables
	Drops  bool   // policy: packets that match no rule are dropped
	Rules  int    // in the chain
	All    int    // in all chains of the chain's table
	// Docker means that the table has chains created by Docker.
	Docker bool
}
