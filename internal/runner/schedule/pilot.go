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
	"tare/internal/warning"
	"tare/internal/wording"
)

// shortestWarmup and longestWarmup bound the warm-up that pilots determine (method 1.4);
// pilotBatch is the batch length in the analysis of their series.
const (
	shortestWarmup = 500 * time.Millisecond
	longestWarmup  = 5 * time.Second
	pilotBatch     = 500 * time.Millisecond
)

// warm sets the warm-up of the bulk workloads when all pilot trials have run: the longest
// that any mode needs, and at least that of the study. It is the same for all modes, and
// the same in a resumed run.
func (sc *Schedule) warm() {
	if !sc.Plan.Piloted() || sc.cfg.Report.Pilots != nil || slices.ContainsFunc(sc.Todo[sc.Done:], plan.Trial.Pilot) {
		return
	}
	var most time.Duration
	known := false
	for _, m := range sc.cfg.Modes() {
		if m.Status != result.ModeMeasured {
			continue
		}
		p := pilotOf(sc.outcomes, m.ID)
		sc.cfg.Report.Pilots = append(sc.cfg.Report.Pilots, p)
		switch {
		case p.Warmup == nil:
			sc.cfg.Warn(warning.PilotFailed, m.ID, "the pilot trial does not show how long the warm-up takes: %s", p.Reason)
			continue
		case p.Unsettled:
			sc.cfg.Warn(warning.PilotUnsettled, m.ID+" "+p.Workload, "the pilot trial of %s did not reach a steady state: results depend on how long trials are. Set a longer pilot and duration, or use a quieter machine.", seconds(p.Length))
		}
		most, known = max(most, duration(*p.Warmup)), true
	}
	if !known {
		return
	}
	most = min(max(most, shortestWarmup), longestWarmup)
	for _, w := range sc.Plan.Workloads {
		switch own := w.Warmup.Std(); {
		case !plan.WarmedByPilots(w):
		case own >= most:
			sc.setLengths(w.Name(), own, 0, fmt.Sprintf("set by the study; pilot trials need %s or less", wording.Duration(most)))
		default:
			sc.setLengths(w.Name(), most, 0, fmt.Sprintf("the longest warm-up of a pilot trial, within %s to %s", wording.Duration(shortestWarmup), wording.Duration(longestWarmup)))
		}
	}
}

// pilotOf evaluates the pilot trial of a mode.
func pilotOf(trials []outcome, mode string) result.Pilot {
	p := result.Pilot{Mode: mode}
	for _, t := range slices.Backward(trials) {
		if t.mode != mode || !t.pilot {
			continue
		}
		p.Workload = t.workload
		if t.status != result.TrialOK {
			p.Reason = fmt.Sprintf("its pilot trial is %s: %s", t.status, t.reason)
			return p
		}
		if t.series == nil || t.series.Interval <= 0 {
			p.Reason = "its pilot trial has no series"
			return p
		}
		p.Length = float64(len(t.series.Values)) * t.series.Interval
		steady := stats.SteadyState(t.series.Values, perBatch(t.series.Interval))
		if !steady.Judged {
			p.Reason = fmt.Sprintf("its pilot trial of %s was too short", seconds(p.Length))
			return p
		}
		cut := float64(steady.Cut) * t.series.Interval
		p.Warmup, p.Unsettled = &cut, steady.Unsettled
		return p
	}
	p.Reason = "it has no pilot trial"
	return p
}

// perBatch is the number of samples in a batch.
func perBatch(interval float64) int {
	return max(1, int(math.Round(pilotBatch.Seconds()/interval)))
}

// setLengths sets the warm-up and, unless it is 0, the timed window of a workload in all
// remaining trials, and records that.
func (sc *Schedule) setLengths(workload string, warmup, window time.Duration, why string) {
	from, was := 0, study.Workload{}
	for i := range sc.Todo[sc.Done:] {
		t := &sc.Todo[sc.Done+i]
		if t.Workload.ID != workload || t.Pilot() || t.Held > 0 {
			continue
		}
		if from == 0 {
			from, was = t.Block, t.Workload
		}
		t.Workload = timed(t.Workload, warmup, window)
	}
	if from == 0 {
		return
	}
	// Repeated trials keep their length.
	sc.Plan.Revise(from, timed(was, warmup, window))
	if window == 0 {
		window = was.Duration.Std()
	}
	sc.cfg.Report.Lengths = append(sc.cfg.Report.Lengths, result.Length{Workload: workload, FromBlock: from, Warmup: warmup.Seconds(), Duration: window.Seconds(), Reason: why})
	sc.cfg.Tell(live.Decision{Text: fmt.Sprintf("%s from block %d on: %s warm-up, %s timed (%s)", workload, from, wording.Duration(warmup), wording.Duration(window), why)})
}

// timed returns a workload with another warm-up and, unless it is 0, another timed
// window.
func timed(w study.Workload, warmup, window time.Duration) study.Workload {
	w.Warmup = quantity.WaitOf(warmup)
	if window > 0 {
		w.Duration = quantity.Duration(window)
	}
	return w
}

func duration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func seconds(s float64) string { return wording.Duration(duration(s)) }
