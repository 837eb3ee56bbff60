package schedule

import (
	"slices"
	"time"

	"tare/internal/analysis"
	"tare/internal/analysis/readings"
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
	sc.add(t, t.Pilot || sc.cfg.Study.Stop != nil && t.Block <= lengthsAfter)
	sc.recordForPass(t)
}

// history is the trials that ended, those of the resumed run first.
type history struct {
	outcomes []outcome
	earlier  int                     // number of outcomes of the resumed run
	values   readings.Table          // of the trials so far
	tallies  map[string]result.Tally // of each workload but the cost pass
	searches map[cell]*result.Search
}

// add keeps a trial, with its series only if lengths are decided by it.
func (h *history) add(t result.Trial, decides bool) {
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
	if decides {
		o.series = t.Series
	}
	h.outcomes = append(h.outcomes, o)
	h.values.Add(t)
	if t.Workload != study.CostPassID && t.TailRate == 0 {
		n := h.tallies[t.Workload]
		n.Add(t.Status)
		h.tallies[t.Workload] = n
	}
	if t.Search != nil && t.Status == result.TrialOK {
		h.searches[cell{t.Mode, t.Workload}] = t.Search
	}
}

// Recorded is the number of trials that ended, those of the resumed run included.
func (h *history) Recorded() int { return len(h.outcomes) }

// Reached returns what the first trial of a workload received, in bit/s, and of which mode it
// was. ok is false if there is none.
func (h *history) Reached(workload string) (mode string, reached float64, ok bool) {
	for _, o := range h.outcomes {
		if o.paces && o.workload == workload && o.reached > 0 {
			return o.mode, o.reached, true
		}
	}
	return "", 0, false
}

// Values are the values of the trials so far.
func (h *history) Values() *readings.Table { return &h.values }

// LastSearch is the result of the last search of a mode that had one, nil without one.
func (h *history) LastSearch(mode, workload string) *result.Search {
	return h.searches[cell{mode, workload}]
}

// Void reports whether a trial of a mode was void, and why the first one was.
func (h *history) Void(mode string) (why string, void bool) {
	i := slices.IndexFunc(h.outcomes, func(o outcome) bool { return o.mode == mode && o.void })
	if i < 0 {
		return "", false
	}
	return h.outcomes[i].reason, true
}

// resumedAt is the timed window that a run chose before it was interrupted.
func (h *history) resumedAt(workload string) (time.Duration, bool) {
	for _, t := range h.outcomes[:h.earlier] {
		if t.workload == workload && t.tailRate == 0 && t.block > lengthsAfter && t.window > 0 {
			return duration(t.window), true
		}
	}
	return 0, false
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
