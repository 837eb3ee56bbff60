package schedule

import (
	"slices"

	"tare/internal/analysis"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// outcome is what the schedule keeps of a trial beside its values. A run has thousands of
// trials, and trials.ndjson has all of each.
type outcome struct {
	block                           int
	mode, workload                  string
	status                          result.TrialStatus
	pilot, profiled, requeued, void bool
	paces                           bool
	reached                         float64        // goodput of a first trial, bit/s
	tailRate                        float64        // of the tail pass, 1/s
	warmup, window, held            float64        // s
	reason                          string         // of a pilot or void trial
	series                          *result.Series // of a trial that decides lengths
}

// aside reports whether the trial counts in no cell.
func (o outcome) aside() bool { return o.pilot || o.paces || o.profiled || o.tailRate > 0 }

// Record adds a trial that ended. The schedule keeps what it decides by later.
func (sc *Schedule) Record(t result.Trial) {
	o := outcome{
		block: t.Block, mode: t.Mode, workload: t.Workload, status: t.Status, warmup: t.Warmup, window: t.Window, held: t.Held,
		pilot: t.Pilot, profiled: t.Profiled, requeued: t.Requeued, void: t.Void,
		paces: t.Paces, tailRate: t.TailRate,
	}
	if t.Paces && t.Status != result.TrialFailed {
		o.reached = t.Metrics["goodput"]
	}
	if t.Pilot || t.Void {
		o.reason = t.Reason
	}
	if t.Pilot || sc.cfg.Study.Stop != nil && t.Block <= lengthsAfter {
		o.series = t.Series
	}
	sc.outcomes = append(sc.outcomes, o)
	sc.values.Add(t)
	if t.Workload != study.CostPassID && t.TailRate == 0 {
		n := sc.tallies[t.Workload]
		n.Add(t.Status)
		sc.tallies[t.Workload] = n
	}
	if t.Search != nil && t.Status == result.TrialOK {
		sc.searches[cell{t.Mode, t.Workload}] = t.Search
	}
	sc.recordForPass(t)
}

// cell is a mode with a workload.
type cell struct{ mode, workload string }

// recordForPass keeps the metrics of the trials that decide the rate of the cost pass, until
// it is chosen.
func (sc *Schedule) recordForPass(t result.Trial) {
	if sc.passFrom != nil && t.Status != result.TrialFailed && (t.Workload == study.CostPassID || slices.Contains(sc.passFrom, t.Workload)) {
		sc.passTrials = append(sc.passTrials, result.Trial{
			Block: t.Block, Mode: t.Mode, Workload: t.Workload, Status: t.Status, Requeued: t.Requeued, Rate: t.Rate, Metrics: t.Metrics,
		})
	}
}

// passFrom are the workloads by which the rate of the cost pass is chosen, nil if the study
// has no pass or sets the rate.
func passFrom(s study.Study) []string {
	if c := analysis.RequestedPass(s); c == nil || c.Missing != "" || c.Rate > 0 {
		return nil
	}
	p, _, _ := plan.CostPass(s)
	return p.From
}

// Recorded is the number of trials that ended, those of the resumed run included.
func (sc *Schedule) Recorded() int { return len(sc.outcomes) }

// Reached returns what the first trial of a workload received, in bit/s, and of which mode it
// was. ok is false if there is none.
func (sc *Schedule) Reached(workload string) (mode string, reached float64, ok bool) {
	for _, o := range sc.outcomes {
		if o.paces && o.workload == workload && o.reached > 0 {
			return o.mode, o.reached, true
		}
	}
	return "", 0, false
}

// Values are the values of the trials so far.
func (sc *Schedule) Values() *analysis.Table { return &sc.values }

// LastSearch is the result of the last search of a mode that had one, nil without one.
func (sc *Schedule) LastSearch(mode, workload string) *result.Search {
	return sc.searches[cell{mode, workload}]
}

// Void reports whether a trial of a mode was void, and why the first one was.
func (sc *Schedule) Void(mode string) (why string, void bool) {
	i := slices.IndexFunc(sc.outcomes, func(o outcome) bool { return o.mode == mode && o.void })
	if i < 0 {
		return "", false
	}
	return sc.outcomes[i].reason, true
}
