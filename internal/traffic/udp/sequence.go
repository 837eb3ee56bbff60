package udp

import "time"

// lateAfter is the waiting time of RFC 7680: a datagram whose delay exceeds the smallest one by
// more than this is late, not received.
const lateAfter = time.Second

// sequenceTracker counts the datagrams of one flow at the receiver. Its memory is bounded: one bit
// for each of the newest sequence numbers.
type sequenceTracker struct {
	seen []uint64 // a ring of bits, by sequence number
	size uint64   // bits, a power of two
	next uint64   // the newest sequence number that arrived, plus one

	received   int64 // distinct datagrams
	counted    int64 // of those, counted ones that arrived in time
	duplicates int64
	reordered  int64 // arrived after one with a higher sequence number
	extent     int64 // the largest distance of those, in sequence numbers behind the newest
	late       int64 // counted ones later than lateAfter, or too old for the ring

	minDelay int64 // ns, the smallest delay so far, between clocks that need not agree
}

// arrival is the classification of a datagram.
type arrival int

const (
	arrivedInTime arrival = iota
	arrivedLate
	duplicate
)

// trackedBits is how many sequence numbers the trackers of a trial remember together, and
// minTrackedBits how many each remembers at least.
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

// arrive counts a datagram with a delay in ns.
func (l *sequenceTracker) arrive(seq uint64, delay int64, counts bool) arrival {
	if seq >= l.next {
		l.advance(seq)
	} else {
		behind := l.next - 1 - seq
		if behind >= l.size {
			// It may be a duplicate; the ring no longer knows.
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

// extend returns the sequence number nearest to the newest one that ends in these 16 bits.
func (l *sequenceTracker) extend(low uint16) uint64 {
	if l.next == 0 {
		return uint64(low)
	}
	newest := l.next - 1
	seq := int64(newest) + int64(int16(low-uint16(newest)))
	if seq < 0 {
		return uint64(low)
	}
	return uint64(seq)
}

// advance makes seq the newest and clears the bits that the ring reuses.
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
