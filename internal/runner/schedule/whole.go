package schedule

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/wording"
)

// A slice that is short against what the path can hold measures the filling of buffers and buckets instead of
// the path: on a link of 1 Mbit/s the send buffer alone holds 8 s of data. A mode with such a path has its
// trials of bulk transfers over TCP in one piece, as long as the path requires (docs/method/trials.md, "Slow and shaped paths").
const (
	// slicePackets and wholePackets are what a counted slice and a window must carry at least: with fewer
	// packets, the one that just misses the end matters.
	slicePackets, wholePackets = 100, 200
	packet                     = 1500 // bytes
	// A slow start takes about rampTrips round trips: a slice leaves out a part that long at least, and so does
	// the warm-up of a window in one piece, which counts as many as a slice lasts.
	rampTrips = 10
	// A slice must be sliceHolds times as long as its path needs for what it holds, because what a lost packet delays
	// across an end of the slice is counted in it or not: up to a sixteenth of what is held changes it by 3 % then.
	sliceHolds = 2.5
	// timesHeld is how many times as long as the path needs for what it holds a window must be: what a queue
	// delays across the ends of the window is then at most an eighth of it, in practice far less.
	timesHeld = 4
	// firstWindow bounds the first window, because the rate in a slice may be that of a slow start.
	firstWindow = 2 * time.Second
	// longestWindow is long enough for a path that requires twice as much.
	longestWindow = time.Minute
	leastWarmup   = 500 * time.Millisecond
	rounded       = 100 * time.Millisecond
	// farMore is what no busy machine explains.
	farMore = time.Second
	// shaperSlack is how much a token bucket may be inexact, because of its clock.
	shaperSlack = 0.02
	// steadyWithin is how much the halves of a window may differ, and levelBatches into how many parts it is divided
	// to tell a change from noise.
	steadyWithin, levelBatches = 0.05, 20
	// saturated is the share of a window that a CPU without time to spare was busy.
	saturated = 0.95
)

// SlowTransfers is after how many transfers in a row whose path held more than a slice carries it is taken for slow.
// On a machine that is busy some are, too.
const SlowTransfers = 6

// Slow returns the number of such transfers in a row, given that before the last one. Of the last it has what the
// path held, and how long it took until all of that had arrived. One that took far longer counts for all.
func Slow(before int, h *traffic.Held, took, slice time.Duration) int {
	switch {
	case h == nil || took < slice+min(h.Time(), slice)/2 || !holdsMore(h, slice):
		return 0
	case took > farMore && h.For(h.Bytes/int64(max(1, h.Streams))) > farMore:
		return SlowTransfers
	}
	return before + 1
}

// holdsMore reports whether a path held too much for a slice, or has round trips too long for it. Of many connections
// each holds its part, and the path is as fast as all together.
func holdsMore(h *traffic.Held, slice time.Duration) bool {
	if h == nil {
		return false
	}
	each := sliceHolds * float64(h.Bytes) / float64(max(1, h.Streams))
	return max(h.For(int64(each)+slicePackets*packet), sliceTrips*h.RTT) > slice
}

// required is the timed window that a path requires which held h.
func required(h *traffic.Held) time.Duration {
	return max(timesHeld*h.Time(), h.For(wholePackets*packet), sliceTrips*h.RTT)
}

// upTo is a window or a warm-up of that length, rounded up and bounded.
func upTo(d time.Duration) time.Duration {
	return min((d + rounded - 1).Truncate(rounded), longestWindow)
}

// whole is t in one piece, for a path that held h after a slice.
func whole(t plan.Trial, h *traffic.Held) plan.Trial {
	w := t.Workload
	warmup := max(leastWarmup, min(h.Time(), firstWindow), rampTrips*h.RTT)
	return t.InOnePiece(max(h.Time(), 1), max(w.Warmup.Std(), upTo(warmup)), max(w.Duration.Std(), upTo(min(required(h), firstWindow))))
}

// Judged is what a trial in one piece shows about its own length.
type Judged int

// What Judge finds.
const (
	LongEnough    Judged = iota
	TooShort             // it must be repeated as the trial that Judge returns
	StillBursting        // the same, because a shaper's bucket was not empty
	Unsteady             // the same, because its goodput changed in the window
	TooSlow              // the path requires a longer window than any
	Falling              // its goodput still falls at the greatest length
	Bursting             // its goodput is above the rate of a shaper on the path after the longest warm-up
)

// Seen is what a trial of a bulk transfer shows about its path.
type Seen struct {
	Goodput     float64       // bit/s
	Series      []float64     // of the goodput
	Held        *traffic.Held // at the end, nil if unknown
	Rate, Burst float64       // of the slowest token bucket that its data has passed: bit/s, 0 without one, and bytes
	Overhead    float64       // bytes that passed that bucket for a byte of payload, less than 1 if they are counted elsewhere
	BusiestCPU  float64       // the share of the trial that the busiest CPU of its machines was busy, 0 if unknown
}

// passed is the rate at which the goodput passed the shaper, headers included, in bit/s.
func (s Seen) passed() float64 { return s.Goodput * max(1, s.Overhead) }

// bursts reports whether a shaper's bucket still let more pass than its rate.
func (s Seen) bursts() bool {
	return s.Rate > 0 && s.passed() > s.Rate*(1+shaperSlack)
}

// halves are the means of the goodput in both halves of the window, whose series has two values or more.
func (s Seen) halves() (first, second float64) {
	halves := stats.Batches(s.Series, len(s.Series)/2)
	return halves[0], halves[1]
}

// emptied reports whether the bucket of the shaper that bursts was empty in the second half of the window.
func (s Seen) emptied() bool {
	if len(s.Series) < 2 {
		return false
	}
	first, second := s.halves()
	return s.passed()*2*second/(first+second) <= s.Rate*(1+shaperSlack)
}

// Judge decides whether a trial was long enough: by what its path held at the end, by the rate of a shaper on
// the path, and by the series of its goodput, because a path whose burst is not over is faster at first.
func Judge(t plan.Trial, s Seen) (plan.Trial, Judged) {
	now, warmup, h := t.Workload.Duration.Std(), t.Workload.Warmup.Std(), s.Held
	if t.Aside() {
		return t, LongEnough
	}
	if h != nil && !t.Sliced() {
		if need := required(h); need > now+now/4 {
			if need > 2*longestWindow {
				return t.InOnePiece(h.Time(), warmup, need), TooSlow
			}
			if need = upTo(need); need > now {
				return t.InOnePiece(max(h.Time(), 1), max(warmup, upTo(max(h.Time(), rampTrips*h.RTT))), need), TooShort
			}
		}
	}
	if s.bursts() {
		if warmup >= longestWindow {
			return t, Bursting
		}
		// The bucket empties by what passes above its rate, or did within the window.
		empties := s.Burst * 8 / (s.passed() - s.Rate)
		more := time.Duration(min(empties, longestWindow.Seconds()) * float64(time.Second))
		if s.emptied() {
			more = min(more, now)
		}
		return t.InOnePiece(max(t.Held, 1), max(warmup, upTo(warmup+max(more, leastWarmup))), max(now, firstWindow)), StillBursting
	}
	series := s.Series
	// A path that turns out to be fast only seemed slow, on a busy machine, where halves differ.
	if t.Held == 0 || len(series) < 2 || !holdsMore(h, t.Workload.Slice.Std()) {
		return t, LongEnough
	}
	first, second := s.halves()
	switch {
	case math.Abs(first-second) <= steadyWithin*(first+second)/2:
		return t, LongEnough
	// Noise is not a burst: a longer window would only show it again, and the interval over the blocks tells how much
	// there is. Nor is a burst what a saturated CPU does, which other programs slow down and let go.
	case s.BusiestCPU >= saturated, !stats.LevelChanged(stats.Batches(series, max(1, len(series)/levelBatches))):
		return t, LongEnough
	case now < longestWindow:
		// What the window has shown becomes warm-up.
		return t.InOnePiece(t.Held, upTo(warmup+now), upTo(2*now)), Unsteady
	case first > second:
		return t, Falling
	}
	return t, LongEnough
}

// InOnePiece makes the trials of a mode with a workload run in one piece, because its path held h after a
// slice, and returns t as it runs then.
func (sc *Schedule) InOnePiece(t plan.Trial, h *traffic.Held) plan.Trial {
	next := whole(t, h)
	sc.measureWhole(next, fmt.Sprintf("the path holds %s of data, more than a slice of %s", wording.Duration(h.Time()), wording.Duration(t.Workload.Slice.Std())))
	return next
}

// Forwarded makes the bulk transfers of modes whose packets a process forwards run in one piece. Such a process finds how much to handle at once, and its
// peer's window opens, over longer than a slice, which is a new connection: in slices the goodput was between 0.8 and 8 times that of a second
// (docs/method/measured.md). Transfers at a rate keep their slices.
func (sc *Schedule) Forwarded(modes []string) {
	for _, t := range slices.Clone(sc.Todo) {
		w := t.Workload
		if !slices.Contains(modes, t.Mode) || t.Aside() || t.InCostPass() || w.Kind != "tcp_stream" || w.Rate != quantity.Unlimited {
			continue
		}
		if now := sc.Plan.InOnePiece(t); now.Held == 0 && now.Sliced() {
			sc.measureWhole(t.InOnePiece(1, max(w.Warmup.Std(), study.WholeWarmup.Std()), max(w.Duration.Std(), study.WholeDuration.Std())),
				"a process forwards its packets, which settles over longer than a slice")
		}
	}
}

// Lengthen makes the trials in one piece of a mode with a workload as long as next, which Judge has returned.
func (sc *Schedule) Lengthen(next plan.Trial, why string) { sc.measureWhole(next, why) }

// measureWhole makes the remaining trials like next run like it, and records why.
func (sc *Schedule) measureWhole(next plan.Trial, why string) {
	warmup, window := next.Workload.Warmup.Std(), next.Workload.Duration.Std()
	rest := sc.Todo[min(sc.Done, len(sc.Todo)):]
	before := sc.Plan.Estimate(rest)
	sc.Plan.MeasureWhole(next)
	for i, t := range rest {
		if t.Mode == next.Mode && t.Workload.ID == next.Workload.ID && t.Block >= next.Block && !t.Aside() {
			rest[i] = t.InOnePiece(next.Held, warmup, window)
		}
	}
	plan.SlicedFirst(rest)
	// The time limit of a run without one is that of its estimate, which did not know the path.
	sc.Announced += max(0, sc.Plan.Estimate(rest)-before)
	sc.cfg.Report.Lengths = append(sc.cfg.Report.Lengths, result.Length{
		Mode: next.Mode, Workload: next.Workload.ID, FromBlock: next.Block, Warmup: warmup.Seconds(), Duration: window.Seconds(), Held: next.Held.Seconds(), Reason: why,
	})
	sc.cfg.Tell(live.Decision{Text: fmt.Sprintf("%s of %s in one piece from block %d on: %s warm-up, %s timed (%s)",
		next.Workload.ID, next.Mode, next.Block, wording.Duration(warmup), wording.Duration(window), why)})
}

// wholeBefore decides again what the trials of a resumed run have decided.
func (sc *Schedule) wholeBefore() {
	for _, o := range sc.outcomes[:sc.earlier] {
		if o.held > 0 && !o.aside() && o.status != result.TrialFailed {
			t := plan.Trial{Block: o.block, Mode: o.mode}
			t.Workload.ID = o.workload
			sc.Plan.MeasureWhole(t.InOnePiece(duration(o.held), duration(o.warmup), duration(o.window)))
		}
	}
}
