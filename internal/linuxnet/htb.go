//go:build linux

package linuxnet

import "github.com/vishvananda/netlink"

// bucketOf is what limits all that a hierarchical token bucket passes, in bit/s and bytes, and the bytes that passed it:
// of a class and its only child again and again, the one with the lowest ceiling. The rate is 0 if there are several
// outermost classes, or none: no one limit is known then. What no class takes passes without limit, and is not among
// the bytes.
func bucketOf(classes []netlink.Class, root uint32) (rate, burst, passed uint64) {
	for parent := root; ; {
		var only *netlink.HtbClass
		for _, c := range classes {
			h, is := c.(*netlink.HtbClass)
			// An outermost class has the number of the discipline, or none, as its parent.
			if !is || h.Parent != parent && (parent != root || h.Parent != netlink.HANDLE_ROOT) {
				continue
			}
			if only != nil {
				return rate, burst, passed
			}
			only = h
		}
		if only == nil || only.Statistics == nil || only.Statistics.Basic == nil {
			return rate, burst, passed
		}
		if parent == root {
			passed = only.Statistics.Basic.Bytes
		}
		if parent == root || only.Ceil*8 < rate {
			rate, burst = only.Ceil*8, bytesOf(only.Ceil, only.Cbuffer)
		}
		parent = only.Handle
	}
}

// bytesOf is the size in bytes of a bucket that is filled with so many bytes/s, which the kernel keeps as the time, in its
// ticks, that it takes to send it.
func bytesOf(rate uint64, ticks uint32) uint64 {
	return uint64(float64(rate) * float64(ticks) / netlink.TickInUsec() / netlink.TIME_UNITS_PER_SEC)
}
