package tcp

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// Whenever a sender wakes, it serves each slot of its schedule once or misses it, never early, and
// the window has the slots of the requested rate.
func TestPace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := traffic.Params{
			Workload: study.Workload{Streams: rapid.IntRange(1, 50).Draw(t, "streams"), WriteSize: quantity.Size(rapid.IntRange(1, 1<<20).Draw(t, "size")), Rate: quantity.Load(rapid.Uint64Range(1, 1e12).Draw(t, "rate"))},
			Warmup:   time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "warmup")), Duration: time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "duration")),
		}
		s := newPace(p, rapid.IntRange(0, p.Streams-1).Draw(t, "stream"))
		var at time.Duration
		var served int64
		for at < p.Warmup+p.Duration {
			late := s.before(at+1) - s.next
			due := s.due(at)
			if due > s.maxBehind || due > max(late, 0) || due == 0 && s.wakeAt <= at {
				t.Fatalf("at %s: %d due, %d late, at most %d, next look at %s", at, due, late, s.maxBehind, s.wakeAt)
			}
			// Due slots are served at once, before the next wake-up.
			for range min(due, 1000) {
				in := s.slots
				s.serve()
				served += s.slots - in
			}
			if due > 1000 {
				s.missed += s.count(due - 1000)
			}
			at += time.Duration(rapid.Int64Range(int64(10*time.Microsecond), int64(300*time.Millisecond)).Draw(t, "step"))
		}
		s.close()
		if want := s.before(s.to) - s.before(s.from); s.slots != want || served+s.missed != want {
			t.Fatalf("%d slots of %d, %d served and %d missed", s.slots, want, served, s.missed)
		}
	})
}

// A sender that is on time misses nothing, and its slots are evenly spaced.
func TestPaceInTime(t *testing.T) {
	t.Parallel()
	p := traffic.Params{Workload: study.Workload{Streams: 2, WriteSize: 125_000, Rate: 2e9}, Duration: time.Second} // one slot per ms for each stream
	s := newPace(p, 1)
	must.EqualFor(t, "due before the first slot, and the next look", []any{int64(0), 999 * time.Microsecond}, []any{s.due(499 * time.Microsecond), s.wakeAt})
	for i := range 1000 {
		at := time.Duration(i)*time.Millisecond + 500*time.Microsecond
		if n := s.due(at); n != 1 {
			t.Fatalf("at %s %d are due", at, n)
		}
		s.serve()
		if n := s.due(at); n != 0 || s.wakeAt != at+time.Millisecond {
			t.Fatalf("at %s another %d are due, next look at %s", at, n, s.wakeAt)
		}
	}
	if s.close(); s.slots != 1000 || s.missed != 0 {
		t.Errorf("%d slots, %d missed", s.slots, s.missed)
	}
}

// A delayed sender makes up for maxCatchUp and misses the rest.
func TestPaceLate(t *testing.T) {
	t.Parallel()
	s := newPace(traffic.Params{Workload: study.Workload{Streams: 1, WriteSize: 125_000, Rate: 1e9}, Duration: time.Second}, 0)
	must.EqualFor(t, "due and missed after 450 ms of slots of 1 ms", []int64{100, 351}, []int64{s.due(450 * time.Millisecond), s.missed})
	if s.close(); s.slots != 1000 || s.missed != 1000 {
		t.Errorf("nothing was sent, but of %d slots %d are missed", s.slots, s.missed)
	}
}
