package linuxnet

// Filter is a chain of packet filter rules that the kernel calls at a hook: what a
// packet meets there. Rules are those of the chain alone; Table's other chains are
// counted by its own rules, of which Filters gives the number in All.
type Filter struct {
	Family string // ip, ip6, inet, arp, bridge or netdev
	Table  string
	Chain  string // empty for a table of the old iptables, whose chains are not told
	Hook   string // prerouting, input, forward, output, postrouting, ingress; empty for a table of the old iptables
	Drops  bool   // its policy: what no rule has decided is dropped
	Rules  int    // in the chain
	All    int    // in the chain's table, all of its chains together
	// Docker says that the table has chains of Docker's.
	Docker bool
}
