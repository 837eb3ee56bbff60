package udp

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

func TestSchedule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := newSchedule(rapid.Uint64Range(1, socket.MaxPayload*8*128).Draw(t, "bits"), rapid.Uint64Range(1, maxRate).Draw(t, "rate"))
		if err != nil {
			t.Fatal(err)
		}
		d := rapid.Int64Range(1, int64(time.Hour)).Draw(t, "time")
		n := s.before(d)
		// Slot n-1 is the last one before d. The time of a slot is rounded down.
		if n < 1 || s.at(n-1) >= d || s.at(n) < d-1 {
			t.Fatalf("%d slots before %d: the last at %d, the next at %d", n, d, s.at(n-1), s.at(n))
		}
	})
	for _, c := range [][2]uint64{{0, 1}, {1, 0}, {1 << 33, 1}, {1, maxRate + 1}} {
		if _, err := newSchedule(c[0], c[1]); err == nil {
			t.Errorf("a schedule of %d bits at %d", c[0], c[1])
		}
	}
}

// Every slot is served or missed, none early or twice, and never more than a burst without a wait,
// however the clock jumps.
func TestPacer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := newSchedule(11200, rapid.SampledFrom([]uint64{1e6, 1e9, 400e9}).Draw(t, "rate"))
		if err != nil {
			t.Fatal(err)
		}
		end := rapid.Int64Range(1, 5000).Draw(t, "slots")
		burst := rapid.Int64Range(1, 100).Draw(t, "burst")
		var served, missed, run int64
		p := pacer{schedule: s, start: 1000, end: end, burst: burst}
		p.missed = func(first, n int64) {
			if first != served+missed || n < 1 {
				t.Fatalf("%d slots from %d are missed behind %d", n, first, served+missed)
			}
			missed += n
		}
		now := p.start
		for p.next < p.end {
			n := p.due(now)
			if n == 0 {
				run = 0
				if p.next < p.end && p.until(now) > 0 {
					now += p.until(now)
				}
				continue
			}
			if late := now - p.start - s.at(p.next+n-1); late < 0 {
				t.Fatalf("a slot is served %d ns early", -late)
			}
			n = min(n, maxPacedBatch)
			p.served(n)
			served += n
			if run += n; run > burst {
				t.Fatalf("%d in a row, the cap is %d", run, burst)
			}
			now += rapid.Int64Range(0, 200_000).Draw(t, "busy")
		}
		if served+missed != end || p.largestBurst > burst {
			t.Fatalf("%d served and %d missed of %d, the largest burst was %d of %d", served, missed, end, p.largestBurst, burst)
		}
	})
}

func TestMannerOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		gap  time.Duration
		p    traffic.Params
		want manner
	}{
		{time.Millisecond, traffic.Params{}, byTimer},
		{10 * time.Microsecond, traffic.Params{}, overSlots},
		{time.Microsecond, traffic.Params{}, polling},
		{time.Millisecond, traffic.Params{Workload: study.Workload{Scheduling: study.FIFOScheduling}}, byTimer},
		{time.Microsecond, traffic.Params{Workload: study.Workload{Scheduling: study.FIFOScheduling}}, overSlots},
		{time.Millisecond, traffic.Params{Workload: study.Workload{Wait: study.Spin}}, yielding},
		{time.Microsecond, traffic.Params{Workload: study.Workload{Wait: study.Spin}}, yielding},
	} {
		must.EqualFor(t, fmt.Sprintf("slots every %s, %+v", tt.gap, tt.p), tt.want, mannerOf(tt.gap, tt.p))
	}
}

// The thread is woken shortly before its slot. Only the manners that sleep do.
func TestWait(t *testing.T) {
	t.Parallel()
	for how, want := range map[manner]time.Duration{byTimer: time.Millisecond - wakeMargin, overSlots: denseSleep, polling: -1, yielding: -1} {
		slept := time.Duration(-1)
		w := slotWaiter{func(d time.Duration) { slept = d }, how}
		if w.wait(int64(time.Millisecond)); slept != want {
			t.Errorf("manner %d slept %s of 1 ms, want %s", how, slept, want)
		}
	}
}
