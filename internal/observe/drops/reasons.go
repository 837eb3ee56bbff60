package drops

import "fmt"

// subsystem is where the number of the part of the kernel begins that has reasons of
// its own (SKB_DROP_REASON_SUBSYS_SHIFT of net/dropreason.h).
const subsystem = 16

// reasonName is the name of a reason, or its number where the kernel's types do not
// have it.
func reasonName(names map[uint32]string, reason uint32) string {
	if name, ok := names[reason]; ok {
		return name
	}
	if part := reason >> subsystem; part > 0 {
		return fmt.Sprintf("SUBSYSTEM_%d_REASON_%d", part, reason&(1<<subsystem-1))
	}
	return fmt.Sprintf("REASON_%d", reason)
}

// harmless is what the kernel reports as dropped and nobody has lost.
func harmless(reason, location string) bool {
	switch {
	case location == "skb_release_data":
		// Packets that hung on one which was dropped itself, and stood for them.
		return true
	case reason == "OTHERHOST", reason == "DUP_FRAG":
		// A copy: a bridge floods what it has not learned yet to all of its ports.
		return true
	}
	return false
}
