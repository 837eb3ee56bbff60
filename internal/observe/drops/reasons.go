package drops

import "fmt"

// subsystem is the first bit of the number of the kernel subsystem in a reason
// (SKB_DROP_REASON_SUBSYS_SHIFT of net/dropreason.h).
const subsystem = 16

// reasonName returns the name of a reason, or its number if the kernel's types lack it.
func reasonName(names map[uint32]string, reason uint32) string {
	if name, ok := names[reason]; ok {
		return name
	}
	if part := reason >> subsystem; part > 0 {
		return fmt.Sprintf("SUBSYSTEM_%d_REASON_%d", part, reason&(1<<subsystem-1))
	}
	return fmt.Sprintf("REASON_%d", reason)
}

// harmless reports whether a packet that the kernel reports as dropped is not a loss.
func harmless(reason, location string) bool {
	switch {
	case location == "skb_release_data":
		// Packets chained to one that was itself dropped and counted.
		return true
	case reason == "OTHERHOST", reason == "DUP_FRAG":
		// A copy: a bridge floods packets for unknown addresses to all of its ports.
		return true
	}
	return false
}
