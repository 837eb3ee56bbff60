// Package schedule decides between the blocks of a run, by its plan and by the trials so
// far: how long trials are, how fast the cost pass is, whether one more block is run, and
// what is run once more. It runs nothing itself.
package schedule

import (
	"slices"
	"time"

	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// Config is what the schedule of a run is made from.
type Config struct {
	Study   study.Study
	Earlier []result.Trial // of the run that is resumed
	// Modes are those of the run as they are now, and Took how long one took to be made.
	Modes     func() []result.Mode
	SetupTime func(mode string) time.Duration
	// What is decided is recorded in Report and told with Tell; Warn tells the same but
	// once.
	Report *result.Run
	Tell   func(live.Event)
	Warn   func(code warning.Code, scope, format string, args ...any)
}

// Schedule is what is to be run, and what has been.
type Schedule struct {
	Plan   plan.Plan
	Trials []result.Trial
	Todo   []plan.Trial // of the plan, without what a resumed run has
	Done   int          // of Todo
	// Began is when the run did, and Announced how long it was said to take at most.
	Began     time.Time
	Announced time.Duration

	cfg     Config
	pace    float64         // how many times as long as estimated a block took
	late    bool            // the time limit kept the run from one more block
	chosen  map[string]bool // workloads whose length has been looked at
	dropped []dropped
}

// dropped is a workload that a mode failed at as often as it is tried. The other
// workloads go on: a generator that is not installed says nothing of the mode.
type dropped struct{ mode, workload string }

// New is the schedule of a plan, of which a run that is resumed has some trials.
func New(cfg Config, p plan.Plan) *Schedule {
	return &Schedule{cfg: cfg, Plan: p, Trials: slices.Clone(cfg.Earlier), chosen: map[string]bool{}}
}

// Remaining is the plan without what a resumed run has already.
func (sc *Schedule) Remaining() []plan.Trial {
	return slices.DeleteFunc(slices.Clone(sc.Plan.Trials), func(t plan.Trial) bool {
		return slices.ContainsFunc(sc.cfg.Earlier, func(d result.Trial) bool {
			return !d.Profiled && d.Status != result.TrialFailed && d.Block == t.Block && d.Mode == t.Mode && d.Workload == t.Workload.ID
		})
	})
}

// Begin leaves out the modes that are not there to be measured.
func (sc *Schedule) Begin() {
	var unready []string
	for _, m := range sc.cfg.Modes() {
		if m.Status != result.ModeMeasured {
			unready = append(unready, m.ID)
		}
	}
	sc.Plan = sc.Plan.Without(unready...)
	sc.Todo, sc.Done = sc.Remaining(), 0
}

// Append puts trials behind those that have been run, in place of what was left.
func (sc *Schedule) Append(trials []plan.Trial) {
	sc.Todo = append(sc.Todo[:sc.Done:sc.Done], trials...)
}

// UpdateEstimates takes from the trials so far how long those to come are.
func (sc *Schedule) UpdateEstimates() {
	sc.warm()
	sc.lengthen()
	sc.choosePass()
}

// RecordTime notes how long trials took, beside the estimate: that is how the time of the next
// is told.
func (sc *Schedule) RecordTime(took, estimate time.Duration) {
	sc.pace = max(sc.pace, float64(took)/float64(max(estimate, 1)))
}

// BlockTrials lists the trials of a block that are still to run; those of one block follow
// each other.
func (sc *Schedule) BlockTrials(block int) []plan.Trial {
	rest := sc.Todo[sc.Done:]
	if i := slices.IndexFunc(rest, func(t plan.Trial) bool { return t.Block != block }); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// Finished is the last block that is run to its end.
func (sc *Schedule) Finished() int {
	if sc.Done < len(sc.Todo) {
		return sc.Todo[sc.Done].Block - 1
	}
	return sc.Plan.Blocks
}

// Drop gives up a workload for a mode, and reports whether that was the last of the
// mode's workloads.
func (sc *Schedule) Drop(mode, workload string) (last bool) {
	sc.dropped = append(sc.dropped, dropped{mode, workload})
	return !slices.ContainsFunc(sc.Plan.Workloads, func(w study.Workload) bool {
		return w.ID != study.CostPassID && !sc.gaveUp(mode, w.Name())
	})
}

// cancelError reports whether a workload was dropped for a mode.
func (sc *Schedule) gaveUp(mode, workload string) bool {
	return slices.Contains(sc.dropped, dropped{mode, workload})
}

// Measurable leaves out the trials of modes that came to grief meanwhile, and of
// workloads that were dropped.
func (sc *Schedule) Measurable(trials []plan.Trial) []plan.Trial {
	measured := map[string]bool{}
	for _, m := range sc.cfg.Modes() {
		measured[m.ID] = m.Status == result.ModeMeasured
	}
	return slices.DeleteFunc(slices.Clone(trials), func(t plan.Trial) bool {
		return !measured[t.Mode] || sc.gaveUp(t.Mode, t.Workload.ID)
	})
}

// Unprofiled are those of the trials that are only there to sample stacks that a resumed run has not run yet, as long as
// those that counted were.
func (sc *Schedule) Unprofiled() []plan.Trial {
	var out []plan.Trial
	block := max(1, sc.Finished())
	for _, t := range sc.Measurable(plan.Profiles(sc.cfg.Study)) {
		t.Block = block
		done := false
		for _, d := range sc.Trials {
			if d.Mode != t.Mode || d.Workload != t.Workload.ID {
				continue
			}
			done = done || d.Profiled && d.Status == result.TrialOK
			if !d.Aside() && d.Window > 0 {
				t.Workload = timed(t.Workload, duration(d.Warmup), duration(d.Window))
			}
		}
		if !done {
			out = append(out, t)
		}
	}
	return out
}
