package schedule

import (
	"fmt"
	"math"
	"time"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
)

// lengthsAfter is the block after which a run chooses how long its trials are: the
// first with which the spread between blocks can be told at all.
const lengthsAfter = 3

// lengthen chooses, once, how long the trials of a workload are from now on, for
// those that the study leaves to the run (method 1.5). A block that is under way
// keeps the length that it began with, so that a mode and its baseline never differ
// in it.
func (sc *Schedule) lengthen() {
	if sc.cfg.Study.Stop == nil || sc.Done >= len(sc.Todo) || sc.Todo[sc.Done].Block <= lengthsAfter {
		return
	}
	for _, w := range sc.Plan.Workloads {
		if w.DurationMax == 0 || sc.chosen[w.Name()] {
			continue
		}
		sc.chosen[w.Name()] = true
		next, ok := sc.next(w.Name())
		if !ok {
			continue
		}
		window, why := sc.window(next)
		if was, ok := sc.resumedAt(w.Name()); ok {
			window, why = was, "as before the interruption"
		}
		if window == next.Workload.Duration.Std() {
			continue
		}
		sc.relength(w.Name(), next.Workload.Warmup.Std(), window, why)
		if twin, ok := plan.Verifications(sc.cfg.Study)[w.Name()]; ok {
			sc.relength(twin, next.Workload.Warmup.Std(), window, "as long as "+w.Name()+", which it is held against")
		}
	}
}

// next is the next trial of a workload.
func (sc *Schedule) next(workload string) (plan.Trial, bool) {
	for _, t := range sc.Todo[sc.Done:] {
		if t.Workload.ID == workload && !t.Pilot() {
			return t, true
		}
	}
	return plan.Trial{}, false
}

// resumedAt is the timed window that a run had chosen before it was interrupted.
func (sc *Schedule) resumedAt(workload string) (time.Duration, bool) {
	for _, t := range sc.cfg.Earlier {
		if t.Workload == workload && t.Block > lengthsAfter && t.Window > 0 {
			return duration(t.Window), true
		}
	}
	return 0, false
}

// window is the timed window that is best for the next trial's workload: where a
// second more of each trial and one more block promise the same. It is the same for
// all modes. Where the run's time would not do, it stays as it is.
func (sc *Schedule) window(next plan.Trial) (time.Duration, string) {
	w := next.Workload
	now := w.Duration.Std()
	c, batch, ok := sc.components(w.Name())
	if !ok {
		return now, ""
	}
	aim := math.Log1p(sc.cfg.Study.Stop.Width)
	if needed(c, batch, now, aim, sc.cfg.Study.Stop, sc.Plan.Blocks) <= sc.cfg.Study.Stop.MinBlocks {
		return now, "" // narrow enough as it is
	}
	trials := sc.group(next)
	per := func(d time.Duration) time.Duration { return sc.Plan.Estimate(retimed(trials, d)) }
	second := per(now+time.Second) - per(now)
	rest := per(now) - time.Duration(now.Seconds()*float64(second))
	best := w.DurationMax.Std()
	why := "trials differ by no more than their own samples do, and so longer ones are better"
	if n, ok := stats.OptimalLength(batch.Seconds()*second.Seconds(), rest.Seconds(), c); ok {
		best = time.Duration(min(float64(n)*batch.Seconds(), best.Seconds()) * float64(time.Second))
		why = fmt.Sprintf("best for the time that it takes: samples of %s scatter by %.2g %% within trials, trials by %.2g %% beyond that", batch, 100*math.Sqrt(c.Within), 100*math.Sqrt(c.Between))
	}
	best = min(max(best, w.DurationMin.Std()), w.DurationMax.Std()).Round(100 * time.Millisecond)
	wanted := best
	for best > now && !sc.affords(w.Name(), best, needed(c, batch, best, aim, sc.cfg.Study.Stop, sc.Plan.Blocks)) {
		best = max(now, (best - best/10).Round(100*time.Millisecond))
	}
	if best < wanted {
		why += fmt.Sprintf("; %s would be, but for the run's time", wanted)
	}
	if diff := best - now; diff.Abs() < now/10 {
		return now, "" // not worth a change
	}
	return best, why
}

// group is the group of a trial in the block it is in.
func (sc *Schedule) group(next plan.Trial) []plan.Trial {
	var group []plan.Trial
	for _, t := range sc.Todo[sc.Done:] {
		if t.Block == next.Block && t.Workload.ID == next.Workload.ID {
			group = append(group, t)
		}
	}
	return group
}

// retimed is a copy of trials with another timed window.
func retimed(trials []plan.Trial, d time.Duration) []plan.Trial {
	out := make([]plan.Trial, len(trials))
	for i, t := range trials {
		t.Workload.Duration = study.Duration(d)
		out[i] = t
	}
	return out
}

// affords says whether the run can be over in its time after so many blocks with
// trials of a workload that long.
func (sc *Schedule) affords(workload string, d time.Duration, blocks int) bool {
	var rest []plan.Trial
	for _, t := range sc.Todo[sc.Done:] {
		if t.Block > blocks {
			continue
		}
		if t.Workload.ID == workload {
			t.Workload.Duration = study.Duration(d)
		}
		rest = append(rest, t)
	}
	return sc.InTime(rest)
}

// needed forecasts after how many blocks a ratio would be known to within aim, as a
// half-width of its logarithm, with a timed window of d; at most blocks, the extra
// ones included.
func needed(c stats.Components, batch, d time.Duration, aim float64, stop *study.Stop, most int) int {
	variance := c.Between + c.Within*batch.Seconds()/d.Seconds()
	n := max(2, stop.MinBlocks)
	for n < most && stats.TQuantile(0.975, float64(n-1))*math.Sqrt(variance/float64(n)) > aim {
		n++
	}
	if n == stop.MinBlocks {
		return n
	}
	return min(most, n+stop.ExtraBlocks)
}

// components takes apart what the log ratios of modes to baselines scatter by: from
// one sample of a trial to the next, and from block to block beyond that, as the mean
// over the modes. A sample is the mean of half a second or a little more, over which
// what follows each other is nearly independent. Taking the ratio sample by sample
// leaves out what both share, as trials in turns do.
func (sc *Schedule) components(workload string) (c stats.Components, batch time.Duration, ok bool) {
	modes := 0
	for _, m := range sc.cfg.Modes() {
		if m.Baseline == "" || m.Status != result.ModeMeasured {
			continue
		}
		var blocks [][]float64
		for block := 1; block < sc.Todo[sc.Done].Block; block++ {
			own, base := seriesOf(sc.Trials, m.ID, workload, block), seriesOf(sc.Trials, m.Baseline, workload, block)
			if own == nil || base == nil || own.Interval != base.Interval {
				continue
			}
			n := perBatch(own.Interval)
			batch = time.Duration(float64(n) * own.Interval * float64(time.Second))
			if logs := logRatios(stats.Batches(own.Values, n), stats.Batches(base.Values, n)); len(logs) >= 2 {
				blocks = append(blocks, logs)
			}
		}
		one, err := stats.VarianceComponents(blocks)
		if err != nil {
			continue
		}
		c.Within, c.Between, modes = c.Within+one.Within, c.Between+one.Between, modes+1
	}
	if modes == 0 {
		return c, batch, false
	}
	c.Within, c.Between = c.Within/float64(modes), c.Between/float64(modes)
	return c, batch, true
}

// logRatios are the logarithms of x to b, as far as both go; none if one is 0.
func logRatios(x, b []float64) []float64 {
	var out []float64
	for i := range min(len(x), len(b)) {
		if x[i] <= 0 || b[i] <= 0 {
			return nil
		}
		out = append(out, math.Log(x[i]/b[i]))
	}
	return out
}

// seriesOf is that of the trial that counts, nil where there is none.
func seriesOf(trials []result.Trial, mode, workload string, block int) *result.Series {
	var found *result.Series
	for _, t := range trials {
		if t.Mode == mode && t.Workload == workload && t.Block == block && t.Status == result.TrialOK && !t.Aside() && t.Series != nil && t.Series.Interval > 0 {
			found = t.Series
		}
	}
	return found
}
