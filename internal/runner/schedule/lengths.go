package schedule

import (
	"fmt"
	"math"
	"time"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/study/quantity"
)

// lengthsAfter is the block after which a run chooses the length of its trials: the first
// after which the spread between blocks is known.
const lengthsAfter = 3

// lengthen chooses the length of a workload's remaining trials, once, for workloads whose
// length the study leaves to the run (method 1.5). A block that has started keeps its
// length, so that a mode and its baseline always have the same.
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
		sc.setLengths(w.Name(), next.Workload.Warmup.Std(), window, why)
		if verification, ok := plan.Verifications(sc.cfg.Study)[w.Name()]; ok {
			sc.setLengths(verification, next.Workload.Warmup.Std(), window, "as long as "+w.Name()+", which it verifies")
		}
	}
}

// window is the best timed window for the next trial's workload: the one at which a
// longer trial and one more block reduce the spread equally. It is the same for all
// modes. If the time limit is too short for it, the window stays unchanged.
func (sc *Schedule) window(next plan.Trial) (time.Duration, string) {
	w := next.Workload
	now := w.Duration.Std()
	c, batch, ok := sc.components(w.Name())
	if !ok {
		return now, ""
	}
	aim := math.Log1p(sc.cfg.Study.Stop.Width)
	if needed(c, batch, now, aim, sc.cfg.Study.Stop, sc.Plan.Blocks) <= sc.cfg.Study.Stop.MinBlocks {
		return now, "" // already narrow enough
	}
	trials := sc.group(next)
	per := func(d time.Duration) time.Duration { return sc.Plan.Estimate(retimed(trials, d)) }
	second := per(now+time.Second) - per(now)
	rest := per(now) - time.Duration(now.Seconds()*float64(second))
	best := w.DurationMax.Std()
	why := "trials differ no more than their samples do, so longer trials are better"
	if n, ok := stats.OptimalLength(batch.Seconds()*second.Seconds(), rest.Seconds(), c); ok {
		best = time.Duration(min(float64(n)*batch.Seconds(), best.Seconds()) * float64(time.Second))
		why = fmt.Sprintf("smallest variance for the time: samples of %s vary by %.2g %% within trials, and trials by a further %.2g %%", batch, 100*math.Sqrt(c.Within), 100*math.Sqrt(c.Between))
	}
	best = min(max(best, w.DurationMin.Std()), w.DurationMax.Std()).Round(100 * time.Millisecond)
	wanted := best
	for best > now && !sc.fitsTime(w.Name(), best, needed(c, batch, best, aim, sc.cfg.Study.Stop, sc.Plan.Blocks)) {
		best = max(now, (best - best/10).Round(100*time.Millisecond))
	}
	if best < wanted {
		why += fmt.Sprintf("; %s would be better, but exceeds the time limit", wanted)
	}
	if diff := best - now; diff.Abs() < now/10 {
		return now, "" // the gain is too small
	}
	return best, why
}

// retimed returns a copy of trials with another timed window.
func retimed(trials []plan.Trial, d time.Duration) []plan.Trial {
	out := make([]plan.Trial, len(trials))
	for i, t := range trials {
		if t.Held == 0 {
			t.Workload.Duration = quantity.Duration(d)
		}
		out[i] = t
	}
	return out
}

// fitsTime reports whether the run can end within its time limit after the given number
// of blocks with trials of that length.
func (sc *Schedule) fitsTime(workload string, d time.Duration, blocks int) bool {
	var rest []plan.Trial
	for _, t := range sc.Todo[sc.Done:] {
		if t.Block > blocks {
			continue
		}
		if t.Workload.ID == workload && t.Held == 0 {
			t.Workload.Duration = quantity.Duration(d)
		}
		rest = append(rest, t)
	}
	return sc.InTime(rest)
}

// needed estimates the number of blocks after which the half-width of a ratio's logarithm
// is at most aim, with a timed window of d. The result is at most most, the extra blocks
// included.
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

// components splits the variance of the log ratios of modes to baselines into that
// between the samples of a trial and that between blocks, as the mean over the modes. A
// sample is the mean of half a second or slightly more, so that consecutive samples are
// nearly independent. Ratios of single samples remove variation that both share, as
// interleaved trials do.
func (sc *Schedule) components(workload string) (c stats.Components, batch time.Duration, ok bool) {
	modes := 0
	for _, m := range sc.cfg.Modes() {
		if m.Baseline == "" || m.Status != result.ModeMeasured {
			continue
		}
		var blocks [][]float64
		for block := 1; block < sc.Todo[sc.Done].Block; block++ {
			own, base := seriesOf(sc.outcomes, m.ID, workload, block), seriesOf(sc.outcomes, m.Baseline, workload, block)
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

// logRatios are the logarithms of x divided by b, for as many samples as both have; none
// if one is 0.
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

// seriesOf is the series of the trial that counts, nil if there is none.
func seriesOf(trials []outcome, mode, workload string, block int) *result.Series {
	var found *result.Series
	for _, t := range trials {
		if t.mode == mode && t.workload == workload && t.block == block && t.status == result.TrialOK && !t.aside() && t.series != nil && t.series.Interval > 0 {
			found = t.series
		}
	}
	return found
}
