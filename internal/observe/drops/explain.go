package drops

import (
	"slices"

	"tare/internal/result"
)

// Counter begins the name of the counter of what was booked by a drop reason alone.
const Counter = "skb:" + tracepoint

// tracepoint is where the kernel tells of a packet that it gives up.
const tracepoint = "kfree_skb"

// Explain adds the kernel's reasons to an account of losses, and books by them what
// counters left unexplained. Counters go first, because they tell whose socket and
// which device it was; a reason is booked as far as it is more than the counters of
// its sort have, and no farther than datagrams are missing. Some of what the kernel
// dropped was not lost: what a firewall refuses to a sender is sent again.
func Explain(l *result.Losses, reasons []result.DropReason) {
	l.Reasons = reasons
	left := map[string]int64{} // by sort, what counters have and no reason has claimed
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

// dropKind is the name of a sort of places that counters and reasons may draw the line
// between in different ways.
func dropKind(place string) string {
	switch place {
	case result.PlaceReceive, result.PlaceProxy, result.PlaceReceiver, result.PlaceProtocol:
		return result.PlaceReceive // at sockets, of whomever
	case result.PlaceDeviceTx, result.PlaceDeviceRx, result.PlaceBacklog, result.PlaceBridge:
		return result.PlaceBacklog // between two devices
	case result.PlaceQdisc, result.PlaceSendBuffer:
		return result.PlaceQdisc // on the way out
	case result.PlacePolicy, result.PlaceNetfilter, result.PlaceRouting:
		return result.PlaceRouting // by rules and routes
	}
	return place
}
