package udp

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/testkit/must"
)

// naive is a tracker with unbounded memory and the same horizon.
type naive struct {
	seen  map[uint64]bool
	least time.Duration
	max   uint64
	any   bool
	sequenceTracker
}

func (n *naive) arrive(seq uint64, delay time.Duration, counts bool) {
	if n.any && seq < n.max {
		behind := n.max - seq
		switch {
		case behind >= minTrackedBits:
			if counts {
				n.late++
			}
			return
		case n.seen[seq]:
			n.duplicates++
			return
		}
		n.reordered++
		n.extent = max(n.extent, int64(behind))
	} else if n.any && seq == n.max {
		n.duplicates++
		return
	}
	n.seen[seq] = true
	if !n.any || seq > n.max {
		n.max = seq
	}
	if !n.any || delay < n.least {
		n.least = delay
	}
	n.any = true
	n.received++
	switch {
	case !counts:
	case delay-n.least > lateAfter:
		n.late++
	default:
		n.counted++
	}
}

// The tracker agrees with one of unbounded memory for any loss, duplication, reordering and delay.
func TestSequenceTracker(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, n := newSequenceTracker(maxFlows), naive{seen: map[uint64]bool{}}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		loss, dup := rapid.Float64Range(0, 0.9).Draw(t, "loss"), rapid.Float64Range(0, 0.5).Draw(t, "duplicates")
		far := rapid.SampledFrom([]int{1, 3, 100, 2 * minTrackedBits}).Draw(t, "reordering")
		jump := rapid.SampledFrom([]uint64{0, 63, 64, minTrackedBits - 1, minTrackedBits, 5 * minTrackedBits}).Draw(t, "gap")
		var queue []uint64
		next := rapid.Uint64Range(0, 200).Draw(t, "first")
		for range 3000 {
			next++
			if rng.IntN(500) == 0 {
				next += jump
			}
			if rng.Float64() < loss {
				continue
			}
			queue = append(queue, next)
			if rng.Float64() < dup {
				queue = append(queue, next)
			}
		}
		for i := range queue {
			if rng.IntN(4) == 0 {
				j := min(len(queue)-1, i+rng.IntN(far))
				queue[i], queue[j] = queue[j], queue[i]
			}
		}
		for _, seq := range queue {
			delay := time.Duration(rng.Int64N(int64(1200 * time.Millisecond)))
			counts := rng.IntN(3) > 0
			l.arrive(seq, int64(delay), counts)
			n.arrive(seq, delay, counts)
		}
		got := [...]int64{l.received, l.counted, l.duplicates, l.reordered, l.extent, l.late}
		want := [...]int64{n.received, n.counted, n.duplicates, n.reordered, n.extent, n.late}
		if got != want {
			t.Fatalf("received, counted, duplicates, reordered, extent, late: %v, want %v", got, want)
		}
	})
}

// The memory of all trackers of a trial together is bounded.
func TestSequenceTrackerMemory(t *testing.T) {
	t.Parallel()
	for _, flows := range []int{1, 2, 3, 63, 64, 1000} {
		if l := newSequenceTracker(flows); l.size&(l.size-1) != 0 || l.size < minTrackedBits || l.size*uint64(flows) > max(trackedBits, minTrackedBits*uint64(flows)) {
			t.Errorf("%d flows: %d bits each", flows, l.size)
		}
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := header{tag: rapid.Uint64().Draw(t, "tag"), seq: rapid.Uint64Range(0, maxSequence-1).Draw(t, "seq"), sent: rapid.Int64().Draw(t, "sent"),
			slot: rapid.Uint32().Draw(t, "slot"), flow: rapid.Uint16().Draw(t, "flow"), flags: rapid.Uint16().Draw(t, "flags")}
		b := make([]byte, headerSize)
		h.put(b)
		if got, ok := parseHeader(b); !ok || got != h {
			t.Fatalf("%+v came back as %+v, %t", h, got, ok)
		}
		b[rapid.IntRange(0, headerSize-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, ok := parseHeader(b); ok {
			t.Fatal("a corrupt header was accepted")
		}
	})
}

func FuzzHeader(f *testing.F) {
	b := make([]byte, headerSize)
	(&header{tag: 1, seq: 2, sent: 3, slot: 4, flow: 5, flags: 6}).put(b)
	f.Add(b)
	f.Add(message{kind: msgHello, flows: 3, tag: 7, token: "0123456789abcdef"}.bytes())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, ok := parseHeader(b); ok {
			again := make([]byte, headerSize)
			h.put(again)
			must.EqualFor(t, fmt.Sprintf("%x was read as", b[:headerSize]), string(b[:headerSize]), string(again))
			l := newSequenceTracker(maxFlows)
			l.arrive(h.seq, h.sent, true)
		}
		if m, ok := parseMessage(b); ok && string(m.bytes()) != string(b) {
			t.Errorf("%x was read as %x", b, m.bytes())
		}
	})
}

// Of a number of which only the last 16 bits are known, the nearest to the newest one is meant.
func TestExtend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l := newSequenceTracker(1)
		newest := rapid.Uint64Range(0, 1<<40).Draw(r, "newest")
		must.Equal(t, newest&0xffff, l.extend(uint16(newest))) // the first
		l.arrive(newest, 0, false)
		seq := uint64(max(0, int64(newest)+rapid.Int64Range(-1<<15, 1<<15-1).Draw(r, "distance")))
		must.Equal(t, seq, l.extend(uint16(seq)))
	})
}
