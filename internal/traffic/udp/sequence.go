package udp

import "time"

// lateAfter is the waiting time of RFC 7680: a datagram that takes this much
// longer than the quickest one is late, not received.
const lateAfter = time.Second

// sequenceTracker is a receiver's account of one flow. What it remembers of single
// datagrams is bounded: a bit for each of the newest sequence numbers.
type sequenceTracker struct {
	seen []uint64 // a ring of bits, by sequence number
	size uint64   // bits, a power of two
	next uint64   // one above the newest sequence number that came

	received   int64 // distinct datagrams
	counted    int64 // of those, counted ones in time
	duplicates int64
	reordered  int64 // came behind a later one
	extent     int64 // the furthest of those, in sequence numbers behind the newest
	late       int64 // counted ones beyond lateAfter, or too old to remember

	minDelay int64 // ns, the quickest delay so far, by clocks that need not agree
}

// arrival is what the tracker makes of a datagram.
type arrival int

const (
	arrivedInTime arrival = iota
	arrivedLate
	duplicate
)

// trackedBits is how many sequence numbers the trackers of a trial remember
// together, and the least that each does.
const (
	trackedBits    = 1 << 20
	minTrackedBits = 1 << 14
)

func newSequenceTracker(flows int) sequenceTracker {
	size := uint64(minTrackedBits)
	for size*2*uint64(flows) <= trackedBits {
		size *= 2
	}
	return sequenceTracker{seen: make([]uint64, size/64), size: size, minDelay: 1<<63 - 1}
}

// arrive counts a datagram that took delay ns.
func (l *sequenceTracker) arrive(seq uint64, delay int64, counts bool) arrival {
	if seq >= l.next {
		l.advance(seq)
	} else {
		behind := l.next - 1 - seq
		if behind >= l.size {
			// It may have come before: nobody remembers.
			if counts {
				l.late++
			}
			return arrivedLate
		}
		if l.seen[seq%l.size/64]&(1<<(seq%64)) != 0 {
			l.duplicates++
			return duplicate
		}
		l.reordered++
		l.extent = max(l.extent, int64(behind))
	}
	l.seen[seq%l.size/64] |= 1 << (seq % 64)
	l.received++
	l.minDelay = min(l.minDelay, delay)
	if delay-l.minDelay > int64(lateAfter) {
		if counts {
			l.late++
		}
		return arrivedLate
	}
	if counts {
		l.counted++
	}
	return arrivedInTime
}

// advance makes seq the newest and forgets what the ring has no room for.
func (l *sequenceTracker) advance(seq uint64) {
	if seq-l.next >= l.size {
		clear(l.seen)
		l.next = seq + 1
		return
	}
	for ; l.next <= seq; l.next++ {
		if l.next%64 == 0 && seq-l.next >= 63 {
			l.seen[l.next%l.size/64] = 0
			l.next += 63
			continue
		}
		l.seen[l.next%l.size/64] &^= 1 << (l.next % 64)
	}
}
