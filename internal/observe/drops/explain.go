package drops

import (
	"slices"

	"tare/internal/result"
)

// Counter is the prefix of the counter name for losses attributed by a drop reason alone.
const Counter = "skb:" + tracepoint

// tracepoint is where the kernel reports dropped packets.
const tracepoint = "kfree_skb"

// Explain adds the kernel's drop reasons to the attribution of losses, and attributes by
// them what counters left unexplained. Counters take precedence, because they identify the
// socket or device; a reason is attributed only as far as it exceeds the counters of the
// same kind, and up to the number of datagrams still missing. Not all reported drops are
// losses: a datagram that a firewall rejects is sent again.
func Explain(l *result.Losses, reasons []result.DropReason) {
	l.Reasons = reasons
	left := map[string]int64{} // by kind, what counters have that no reason has claimed
	for _, p := range l.Places {
		left[dropKind(p.Place)] += p.Count
	}
	for _, d := range reasons {
		place := Place(d)
		if place == "" {
			continue
		}
		known := min(d.Count, left[dropKind(place)])
		left[dropKind(place)] -= known
		if n := min(d.Count-known, l.Unexplained); n > 0 {
			l.Places = append(l.Places, result.LossPlace{Place: place, Counter: Counter + " " + d.Reason, Count: n})
			l.Unexplained -= n
		}
	}
	slices.SortStableFunc(l.Places, func(a, b result.LossPlace) int { return placeOrder(a.Place) - placeOrder(b.Place) })
}

func placeOrder(place string) int {
	return slices.IndexFunc(result.LossPlaces(), func(p result.PlaceKind) bool { return p.ID == place })
}

// dropKind returns the kind of a place. Counters and reasons may classify drops within a kind
// differently.
func dropKind(place string) string {
	switch place {
	case result.PlaceReceive, result.PlaceProxy, result.PlaceReceiver, result.PlaceProtocol:
		return result.PlaceReceive // at any socket
	case result.PlaceDeviceTx, result.PlaceDeviceRx, result.PlaceBacklog, result.PlaceBridge:
		return result.PlaceBacklog // between two devices
	case result.PlaceQdisc, result.PlaceSendBuffer:
		return result.PlaceQdisc // on the way out
	case result.PlacePolicy, result.PlaceNetfilter, result.PlaceRouting:
		return result.PlaceRouting // by rules and routes
	}
	return place
}
