package traffic

import (
	"slices"

	"tare/internal/result"
)

// Datagrams is the count of one endpoint of a UDP workload: that of the trial's record, in which the
// endpoint sets everything but Lost and the slots, and what only the evaluation needs. Received counts
// include only datagrams from the trial's own peer.
type Datagrams struct {
	result.Datagrams
	Flows []FlowCount `json:"flows"`

	// SocketDrops counts what the kernel dropped at this endpoint's sockets, for lack of buffer
	// space or other reasons, by their own counters (SO_MEMINFO): datagrams, or super-packets with
	// receive offload. It is nil where no counter exists.
	SocketDrops *int64 `json:"socket_drops,omitempty"`
	Retried     int64  `json:"retried,omitempty"` // sends repeated because the kernel had no buffer space
	Denied      int64  `json:"denied,omitempty"`  // sends that a packet filter of this host refused and that were repeated
	Unread      int64  `json:"unread,omitempty"`  // datagrams of the trial that were still unread when this endpoint stopped

	Departure *Distribution `json:"departure,omitempty"` // sender: delay of each send against its slot
	Delay     *Distribution `json:"delay,omitempty"`     // receiver: one-way, if both endpoints share a clock
	Variation *Distribution `json:"variation,omitempty"` // receiver: |difference of successive delays| (RFC 3393 IPDV)
}

// FlowCount is the count of one flow at one endpoint. Counted datagrams were sent within the timed
// window; the sender marks them, so both endpoints count the same ones.
type FlowCount struct {
	Sent            int64 `json:"sent"`
	SentCounted     int64 `json:"sent_counted"`
	Received        int64 `json:"received"` // distinct datagrams
	ReceivedCounted int64 `json:"received_counted"`
}

// CountDatagrams returns a count of these flows in which every counter is known and 0: what the
// built-in generator does not count did not happen.
func CountDatagrams(flows []FlowCount) *Datagrams {
	return &Datagrams{Flows: flows, Datagrams: result.Datagrams{
		Duplicates: new(int64), Reordered: new(int64), ReorderExtent: new(int64), Late: new(int64), Foreign: new(int64), LargestBurst: new(int64),
	}}
}

// Count is the value of a counter, 0 if it is unknown.
func Count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// Total adds up the flows. Of a nil Datagrams it is 0.
func (d *Datagrams) Total() (sum FlowCount) {
	if d == nil {
		return sum
	}
	for _, f := range d.Flows {
		sum = sum.plus(f)
	}
	return sum
}

// plus adds the counts of two pairs of endpoints. Either may be nil.
func (d *Datagrams) plus(e *Datagrams) *Datagrams {
	if d == nil || e == nil {
		if d == nil {
			return e
		}
		return d
	}
	return &Datagrams{
		Datagrams: result.Datagrams{
			Duplicates:    addCounts(d.Duplicates, e.Duplicates),
			Reordered:     addCounts(d.Reordered, e.Reordered),
			ReorderExtent: largest(d.ReorderExtent, e.ReorderExtent),
			Late:          addCounts(d.Late, e.Late),
			Foreign:       addCounts(d.Foreign, e.Foreign),
			LargestBurst:  largest(d.LargestBurst, e.LargestBurst),
			Offload:       d.Offload && e.Offload,
		},
		Flows:       append(slices.Clone(d.Flows), e.Flows...),
		SocketDrops: sumKnown(d.SocketDrops, e.SocketDrops),
		Retried:     d.Retried + e.Retried,
		Denied:      d.Denied + e.Denied,
		Unread:      d.Unread + e.Unread,
		Departure:   mergeDistributions(d.Departure, e.Departure),
		Delay:       mergeDistributions(d.Delay, e.Delay),
		Variation:   mergeDistributions(d.Variation, e.Variation),
	}
}

// addCounts and largest combine two counts of events, of which an external generator reports only those that
// occurred. They are nil if both are.
func addCounts(a, b *int64) *int64 { return combine(a, b, Count(a)+Count(b)) }
func largest(a, b *int64) *int64   { return combine(a, b, max(Count(a), Count(b))) }

func combine(a, b *int64, both int64) *int64 {
	if a == nil && b == nil {
		return nil
	}
	return &both
}

// then adds the counts of the next step of a search on the same flows; all is the sum over both as if the flows
// were others.
func (d *Datagrams) then(next, all *Datagrams) *Datagrams {
	sum := *all
	sum.Flows = slices.Clone(d.Flows)
	for i, f := range next.Flows {
		sum.Flows[i] = sum.Flows[i].plus(f)
	}
	return &sum
}

func (f FlowCount) plus(g FlowCount) FlowCount {
	return FlowCount{f.Sent + g.Sent, f.SentCounted + g.SentCounted, f.Received + g.Received, f.ReceivedCounted + g.ReceivedCounted}
}
