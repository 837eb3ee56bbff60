package schedule

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/report/wording"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/traffic/workloads"
	"tare/internal/warning"
)

// A warm-up that pilots find is held within these bounds (method 1.4); pilotBatch is
// how long the batches are in which their series are looked at.
const (
	shortestWarmup = 500 * time.Millisecond
	longestWarmup  = 5 * time.Second
	pilotBatch     = 500 * time.Millisecond
)

// warm sets the warm-up of the bulk workloads from the pilot trials, once they are
// all run: the longest that any mode needed, and never less than the study says. It
// is the same for all modes, and for a run that is resumed.
func (sc *Schedule) warm() {
	piloted := slices.ContainsFunc(sc.Plan.Trials, plan.Trial.Pilot)
	if !piloted || sc.cfg.Report.Pilots != nil || slices.ContainsFunc(sc.Todo[sc.Done:], plan.Trial.Pilot) {
		return
	}
	var most time.Duration
	known := false
	for _, m := range sc.cfg.Modes() {
		if m.Status != result.ModeMeasured {
			continue
		}
		p := pilotOf(sc.Trials, m.ID)
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
		case !Bulk(w) || w.ID == study.CostPassID:
		case own >= most:
			sc.relength(w.Name(), own, 0, fmt.Sprintf("the study's own; pilot trials showed %s or less", wording.Duration(most)))
		default:
			sc.relength(w.Name(), most, 0, fmt.Sprintf("the longest warm-up that a pilot trial showed, %s to %s", wording.Duration(shortestWarmup), wording.Duration(longestWarmup)))
		}
	}
}

// pilotOf looks at the pilot trial of a mode.
func pilotOf(trials []result.Trial, mode string) result.Pilot {
	p := result.Pilot{Mode: mode}
	for _, t := range slices.Backward(trials) {
		if t.Mode != mode || !t.Pilot {
			continue
		}
		p.Workload = t.Workload
		if t.Status != result.TrialOK {
			p.Reason = fmt.Sprintf("its pilot trial is %s: %s", t.Status, t.Reason)
			return p
		}
		if t.Series == nil || t.Series.Interval <= 0 {
			p.Reason = "its pilot trial gave no series"
			return p
		}
		p.Length = float64(len(t.Series.Values)) * t.Series.Interval
		steady := stats.SteadyState(t.Series.Values, perBatch(t.Series.Interval))
		if !steady.Judged {
			p.Reason = fmt.Sprintf("its pilot trial of %s was too short to say", seconds(p.Length))
			return p
		}
		cut := float64(steady.Cut) * t.Series.Interval
		p.Warmup, p.Unsettled = &cut, steady.Unsettled
		return p
	}
	p.Reason = "it has no pilot trial"
	return p
}

// perBatch is how many samples make a batch.
func perBatch(interval float64) int {
	return max(1, int(math.Round(pilotBatch.Seconds()/interval)))
}

// Bulk reports whether a workload is one that needs time to fill a slow path.
func Bulk(w study.Workload) bool {
	t, err := workloads.Named(w.Kind)
	return err == nil && t.Spec().Bulk
}

// relength sets the warm-up and, unless it is 0, the timed window of a workload in
// all trials to come, and records that.
func (sc *Schedule) relength(workload string, warmup, window time.Duration, why string) {
	from, was := 0, study.Workload{}
	for i := range sc.Todo[sc.Done:] {
		t := &sc.Todo[sc.Done+i]
		if t.Workload.ID != workload || t.Pilot() {
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
	// What is run once more later is as long as it was.
	for i := range sc.Plan.Trials {
		if t := &sc.Plan.Trials[i]; t.Workload.ID == workload && t.Block >= from {
			t.Workload = timed(t.Workload, warmup, window)
		}
	}
	if window == 0 {
		window = was.Duration.Std()
	}
	sc.cfg.Report.Lengths = append(sc.cfg.Report.Lengths, result.Length{Workload: workload, FromBlock: from, Warmup: warmup.Seconds(), Duration: window.Seconds(), Reason: why})
	sc.cfg.Tell(live.Decision{Text: fmt.Sprintf("%s from block %d on: %s warm-up, %s timed (%s)", workload, from, wording.Duration(warmup), wording.Duration(window), why)})
}

// timed is a workload with another warm-up and, unless it is 0, timed window.
func timed(w study.Workload, warmup, window time.Duration) study.Workload {
	w.Warmup = study.WaitOf(warmup)
	if window > 0 {
		w.Duration = study.Duration(window)
	}
	return w
}

func duration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func seconds(s float64) string { return wording.Duration(duration(s)) }
