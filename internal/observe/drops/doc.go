// Package drops asks the kernel why it threw datagrams away. A small program on the
// raw tracepoint skb:kfree_skb counts, for the ends of a trial and for nothing else,
// which packets the kernel gives up, by its own reason and by the function that did
// it. It costs nothing while no packet is dropped.
//
// It takes Linux 5.17 or newer with BTF, and root or the capabilities CAP_BPF and
// CAP_PERFMON. Where these are lacking, [Normalise] says which, and a run goes on without.
//
// What it cannot see: what another kernel drops; datagrams inside a tunnel other
// than VXLAN on UDP ports 4789 and 8472; fragments behind the first, which carry no
// ports; and what the kernel frees without calling it a drop.
package drops

import (
	"fmt"
	"net/netip"

	"tare/internal/result"
)

// Flow is what is counted together, usually the traffic of one trial. A packet
// belongs to it if it is from or to one of Ends, over UDP, or TCP if that is set. An
// end without an address, or with an unspecified one, is all that have the port.
// Address translation gives a flow several.
type Flow struct {
	Ends []netip.AddrPort
	TCP  bool
}

// FlowDrops is what a session has counted of a flow.
type FlowDrops struct {
	Reasons []result.DropReason // the most frequent first
	Missing string              // why the counts may be too low, empty where they are whole
}

// UnavailableError says why drops cannot be counted here, and what would mend it.
type UnavailableError struct {
	Reason string
	Err    error // what the kernel said; may be nil
}

func (e *UnavailableError) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }
