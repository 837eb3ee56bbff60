package schedule

import (
	"fmt"
	"math"
	"time"

	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/wording"
)

const (
	// sliceTrips is how many round trips of the slowest path of its group a slice lasts at least, so that its
	// uncounted part lasts rampTrips of them.
	sliceTrips = rampTrips * traffic.SliceWarmup
	sliceStep  = 10 * time.Millisecond
)

// SliceOf is the slice that a path with round trips of rtt requires, at least slice itself; rtt is 0 if it is unknown.
func SliceOf(rtt, slice time.Duration) time.Duration {
	if rtt <= slice/sliceTrips {
		return slice
	}
	return sliceUpTo(min(rtt, longestWindow) * sliceTrips)
}

// sliceUpTo is a slice of that length, rounded up and bounded.
func sliceUpTo(d time.Duration) time.Duration {
	return min((d + sliceStep - 1).Truncate(sliceStep), longestWindow)
}

const (
	// A transient reaches into the counted part of a slice if the rate rises or falls by transientShift between the first
	// quarter of that part and its last half, which changes the mean by 1 %, and does so in the slices of a trial by more
	// than chance, at transientRisk.
	transientShift, transientRisk = 0.04, 1e-5
)

// SettledSlice is the slice that the profile of a trial's slices requires, whose length was slice: it is longer if the
// transient at the beginning of a slice was not over when the uncounted part was. The slices are the replicates: what
// delays one of them is no transient. A profile of fewer than 3 slices, or nil, requires nothing.
func SettledSlice(p *traffic.Profile, slice time.Duration) time.Duration {
	if p == nil || p.Slices < 3 || len(p.Parts) != traffic.ProfileParts {
		return slice
	}
	parts, n, level := make([]float64, len(p.Parts)), float64(p.Slices), 0.0
	for i, m := range p.Parts {
		parts[i] = float64(m) / n
		level += parts[i] / float64(len(parts))
	}
	rise := p.Rise / n
	se := math.Sqrt(max(0, p.Squares/n-rise*rise) / (n - 1))
	if math.Abs(rise) <= transientShift*level || math.Abs(rise) <= se*stats.TQuantile(1-transientRisk/2, n-1) {
		return slice
	}
	// The rule that finds a warm-up in a series finds the transient in the profile: half of the slice at most, and
	// the longer slice shows whether that was all.
	uncounted := len(parts) / traffic.SliceWarmup
	cut := max(stats.SteadyState(parts, 1).Cut, uncounted+1)
	return sliceUpTo(slice * time.Duration(cut) / time.Duration(uncounted))
}

// Unsettled records whether a group of trials of a workload showed a transient, and reports whether it and the group before
// it did: what other programs do to the CPUs during one trial looks like a transient, and is seldom there in the next.
func (sc *Schedule) Unsettled(workload string, shown bool) bool {
	before := sc.shifted[workload]
	sc.shifted[workload] = shown
	return before && shown
}

// WithSlice returns a trial of a group as it is repeated with slices of that length, which all later trials of its
// workload then have. Where such a slice is as long as the timed window, they run in one piece: a single slice, whose
// warm-up is its uncounted part. Rtt is the round trip of the trial's own path, 0 if it is unknown.
func (sc *Schedule) WithSlice(t plan.Trial, slice, rtt time.Duration, why string) plan.Trial {
	if slice >= t.Workload.Duration.Std() {
		next := t.InOnePiece(max(rtt, 1), max(t.Workload.Warmup.Std(), upTo(slice/traffic.SliceWarmup)), max(t.Workload.Duration.Std(), upTo(slice)))
		sc.measureWhole(next, why)
		return next
	}
	t.Workload.Slice = quantity.Duration(slice)
	if done, ok := sc.sliced[t.Workload.ID]; ok && done >= slice {
		return t // of another mode of the group
	}
	sc.sliced[t.Workload.ID] = slice
	sc.Plan.Revise(t.Block, t.Workload)
	rest := sc.Todo[min(sc.Done, len(sc.Todo)):]
	before := sc.Plan.Estimate(rest)
	for i := range rest {
		if o := &rest[i]; o.Workload.ID == t.Workload.ID && o.Held == 0 && !o.Aside() {
			o.Workload.Slice = t.Workload.Slice
		}
	}
	sc.Announced += max(0, sc.Plan.Estimate(rest)-before)
	w := t.Workload
	sc.cfg.Report.Lengths = append(sc.cfg.Report.Lengths, result.Length{
		Workload: w.ID, FromBlock: t.Block, Warmup: w.Warmup.Std().Seconds(), Duration: w.Duration.Std().Seconds(), Slice: slice.Seconds(), Reason: why,
	})
	sc.cfg.Tell(live.Decision{Text: fmt.Sprintf("%s from block %d on: slices of %s (%s)", w.ID, t.Block, wording.Value(slice.Seconds(), "s"), why)})
	return t
}
