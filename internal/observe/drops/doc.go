// Package drops counts the reasons for which the kernel dropped datagrams. A small eBPF
// program on the raw tracepoint skb:kfree_skb counts dropped packets of a trial's
// endpoints, by the kernel's reason and the function that dropped them. It costs nothing
// while no packet is dropped.
//
// It requires Linux 5.17 or newer with BTF, and root or the capabilities CAP_BPF and
// CAP_PERFMON. If something is missing, [New] says what, and a run continues without it.
//
// It does not see drops in another kernel; datagrams inside a tunnel other than VXLAN on
// UDP ports 4789 and 8472; fragments after the first, which have no ports; and packets that
// the kernel frees without reporting a drop.
package drops

import (
	"fmt"
	"net/netip"

	"tare/internal/result"
)

// Flow is traffic that is counted together, usually that of one trial. A packet belongs to
// it if it is from or to one of Ends, over UDP, or over TCP if TCP is set. An element of
// Ends without an address, or with an unspecified one, matches every address with that
// port. With address translation a flow has several.
type Flow struct {
	Ends []netip.AddrPort
	TCP  bool
}

// FlowDrops is what a session has counted for a flow.
type FlowDrops struct {
	Reasons []result.DropReason // the most frequent first
	Missing string              // why the counts may be too low, empty if they are complete
}

// UnavailableError says why drops cannot be counted here, and how to fix it.
type UnavailableError struct {
	Reason string
	Err    error // the kernel's error; may be nil
}

func (e *UnavailableError) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }
