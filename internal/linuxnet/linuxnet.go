// Package linuxnet is the only room that speaks to the kernel about networks:
// namespaces, links, addresses, address translation, counters, offloads. What
// is above it says what to build, and never how a netlink message looks.
//
// It works the same as root and as the root of a user namespace. On any other
// system than Linux there is only its outline, and everything answers ErrSystem.
package linuxnet

import (
	"errors"
	"runtime"
)

// ErrSystem is the answer of a system that is not Linux.
var ErrSystem = errors.New("network namespaces need Linux, and this is " + runtime.GOOS)

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

// Bucket is what the token bucket of a link of rate bit/s lets pass at once, and what
// the queue behind it holds, in bytes: 2 ms or 32 full GSO packets' worth of one MTU,
// whichever is more, and 50 ms.
func Bucket(rate uint64, mtu int) (burst, queue uint64) {
	bytes := rate / 8
	burst = max(bytes/500, 32*uint64(max(0, mtu)), 64<<10)
	return burst, max(bytes/20, 2*burst)
}
