package exchange

import (
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

const ms = time.Millisecond

// binsOf are the answers to 1000 requests/s for 2 s: at once, but those that are due from stop on when it answers again, at resume.
func binsOf(stop, resume time.Duration) []uint32 {
	bins := make([]uint32, 2*time.Second/EventBin)
	for at := time.Duration(0); at < 2*time.Second; at += ms {
		answered := at
		if at >= stop && at < resume {
			answered = resume
		}
		if i := int(answered / EventBin); i < len(bins) {
			bins[i]++
		}
	}
	return bins
}

func TestRecovery(t *testing.T) {
	const event, end = 1003 * ms, 2 * time.Second
	for _, c := range []struct {
		what  string
		bins  []uint32
		after time.Duration
		back  bool
	}{
		{"the rate never falls", binsOf(end, end), 0, true},
		{"a gap", binsOf(1003*ms, 1400*ms), 397 * ms, true},
		{"a gap that begins later", binsOf(1200*ms, 1400*ms), 397 * ms, true},
		{"a gap before the event", binsOf(500*ms, 900*ms), 0, true},
		{"no answer any more", binsOf(1010*ms, end), 0, false},
		{"a pause of 4 ms within 100 ms", binsOf(1204*ms, 1208*ms), 0, true},
		{"answers again for too short a time", binsOf(1003*ms, 1950*ms), 0, false},
	} {
		after, back := recovery(c.bins, event, end, 1000)
		must.True(t, after == c.after && back == c.back, "%s: back %t after %s, want %t after %s", c.what, back, after, c.back, c.after)
	}
	half := binsOf(end, end)
	for i := 101; i < len(half); i++ {
		half[i] = 9 // of 10
	}
	after, back := recovery(half, event, end, 1000)
	must.True(t, !back, "90 %% of the rate is the old one after %s", after)
	// All that waited is answered at once, and then nothing: the rate is not back.
	burst := binsOf(1003*ms, end)
	burst[140] = 1000
	if after, back := recovery(burst, event, end, 1000); back {
		t.Errorf("a burst is the old rate after %s", after)
	}
}

// eventTrial is a window of 2 s with a warm-up of 100 ms whose event lasts from the given times of the trial on, where stop, or that much
// later, is the end of the answers until resume.
func eventTrial(t *testing.T, began, ended, stop, resume time.Duration) (*traffic.EventSeen, error) {
	t.Helper()
	p := traffic.Params{Workload: study.Workload{Streams: 1, TransactionRate: 1000, Event: "link_down"}, Warmup: 100 * ms, Duration: 2 * time.Second}
	p.EventClock = traffic.NewEventClock()
	w := NewWindow(p, 0, traffic.NewDistribution(), make([]int64, 1))
	time.Sleep(300 * ms) // until its thread runs
	w.Begin()
	start := time.Now()
	until := func(at time.Duration) {
		time.Sleep(at - time.Since(start))
		if began > 0 && at >= began {
			p.EventClock.Begin()
		}
		if ended > 0 && at >= ended {
			p.EventClock.End()
		}
	}
	for at := time.Duration(0); at < p.Warmup+p.Duration; at += ms {
		until(at)
		switch {
		case at < stop || at > resume:
			w.Done(0, at, at)
		case at == resume:
			for due := stop; due <= resume; due += ms {
				w.Done(0, due, at)
			}
		}
	}
	var all traffic.Window
	err := w.AddTo(&all)
	return all.Event, err
}

func TestEventSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const never = time.Hour
		seen, err := eventTrial(t, 1100*ms, 1300*ms, 1100*ms, 1500*ms)
		must.Do(t, err)
		near(t, "began", 1, seen.Began)
		near(t, "ended", 1.2, seen.Ended)
		near(t, "gap", 0.401, seen.Gap)
		near(t, "recovery", 0.4, *seen.Recovery)
		must.Equal(t, []int64{2000, 2000}, []int64{seen.Due, seen.Answered})

		// A longer gap before the event is not the event's.
		seen, err = eventTrial(t, 1100*ms, 1300*ms, 300*ms, 900*ms)
		must.Do(t, err)
		near(t, "gap", 0.001, seen.Gap)
		near(t, "recovery", 0, *seen.Recovery)

		// What does not come back has no time, and its gap lasts to the end.
		seen, err = eventTrial(t, 1100*ms, 1300*ms, 1500*ms, never)
		must.Do(t, err)
		near(t, "gap", 0.601, seen.Gap)
		if seen.Recovery != nil {
			t.Errorf("recovered after %g s", *seen.Recovery)
		}
		must.Equal(t, []int64{2000, 1400}, []int64{seen.Due, seen.Answered})
		m := map[string]float64{}
		addEvent(m, *seen)
		_, known := m["recovery_time"]
		must.True(t, !known && m["loss_ratio"] == 0.3, "metrics: %v", m)

		_, err = eventTrial(t, 0, 0, never, never)
		must.Fail(t, err, "the event had not happened when the trial ended")
		_, err = eventTrial(t, 1100*ms, 2050*ms, never, never)
		must.Fail(t, err, "which is not within the timed window from 100ms to 2.1s; set a longer duration")
	})
}

// near fails unless got is within 1 ms of want.
func near(t *testing.T, what string, want, got float64) {
	t.Helper()
	must.True(t, got >= want-0.0011 && got <= want+0.0011, "%s: %g s, want %g", what, got, want)
}
