// Package schedule decides between the blocks of a run, from its plan and its trials so
// far: the length of trials, the rate of the cost pass, whether to run another block, and
// what to repeat. It runs nothing itself.
package schedule

import (
	"slices"
	"time"

	"tare/internal/analysis/verdict"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// Config configures a schedule.
type Config struct {
	Study   study.Study
	Earlier []result.Trial // trials of the run that is resumed
	// Modes returns the current modes of the run, and SetupTime how long the set-up of
	// one took.
	Modes     func() []result.Mode
	SetupTime func(mode string) time.Duration
	// Decisions are recorded in Report and sent with Tell; Warn reports each warning
	// once.
	Report *result.Run
	Tell   func(live.Event)
	Warn   func(code warning.Code, scope, format string, args ...any)
}

// Schedule holds the trials that remain, and what the decisions need of those that have run.
type Schedule struct {
	Plan plan.Plan
	queue
	// Began is the start of the run, and Announced the estimated maximum duration.
	Began     time.Time
	Announced time.Duration

	cfg     Config
	pace    float64         // actual divided by estimated duration of a block, without its searches
	paces   map[string]pace // of the searches of each workload
	timeUp  bool            // the time limit prevented another block
	chosen  map[string]bool // workloads whose length has been decided
	dropped []dropped
	left    map[cell]bool            // modes with a workload that have settled and left
	sliced  map[string]time.Duration // by workload: the longer slices that its paths required
	shifted map[string]bool          // workloads whose last group showed a transient

	history
	passFrom   []string // see passFrom
	passTrials []result.Trial
}

// dropped is a workload that failed for a mode in all attempts. The other workloads
// continue: a missing generator, for example, does not affect them.
type dropped struct{ mode, workload string }

// pace is how long searches took, and how long they were estimated to take.
type pace struct{ took, estimate time.Duration }

// New returns the schedule of a plan; a resumed run already has some of its trials.
func New(cfg Config, p plan.Plan) *Schedule {
	sc := &Schedule{cfg: cfg, Plan: p, paces: map[string]pace{}, chosen: map[string]bool{}, left: map[cell]bool{}, sliced: map[string]time.Duration{}, shifted: map[string]bool{}, passFrom: passFrom(cfg.Study)}
	sc.Resume(cfg.Earlier)
	sc.cfg.Earlier = nil // no longer needed
	return sc
}

// Resume makes these trials those of the run that is resumed, in place of all before.
func (sc *Schedule) Resume(earlier []result.Trial) {
	sc.history, sc.passTrials = history{searches: map[cell]*result.Search{}, tallies: map[string]result.Tally{}}, nil
	for _, t := range earlier {
		sc.Record(t)
	}
	sc.earlier = len(sc.outcomes)
}

// Remaining is the plan without the trials of the resumed run.
func (sc *Schedule) Remaining() []plan.Trial {
	type place struct {
		block          int
		mode, workload string
	}
	ran := map[place]bool{}
	for _, d := range sc.outcomes[:sc.earlier] {
		if !d.profiled && !d.paces && d.tailRate == 0 && d.status != result.TrialFailed {
			ran[place{d.block, d.mode, d.workload}] = true
		}
	}
	var todo []plan.Trial
	for t := range sc.Plan.Trials() {
		if !ran[place{t.Block, t.Mode, t.Workload.ID}] {
			todo = append(todo, t)
		}
	}
	return todo
}

// Decide replaces the study by one with what the run has decided before its first block.
func (sc *Schedule) Decide(s study.Study) {
	sc.cfg.Study, sc.Plan, sc.passFrom = s, plan.Make(s).WithSetupTimes(sc.Plan.SetupTimes), passFrom(s)
}

// Begin removes the modes that could not be set up.
func (sc *Schedule) Begin() {
	var unready []string
	for _, m := range sc.cfg.Modes() {
		if m.Status != result.ModeMeasured {
			unready = append(unready, m.ID)
		}
	}
	sc.Plan = sc.Plan.Without(unready...)
	sc.wholeBefore()
	sc.Todo, sc.Done = sc.Remaining(), 0
}

// UpdateEstimates updates the estimates of the remaining trials from the trials so far.
func (sc *Schedule) UpdateEstimates() {
	sc.warm()
	sc.lengthen()
	sc.choosePass()
}

// RecordTime records how long trials took relative to the estimate before them, to correct later
// estimates. Those of BlockTrials that were made longer meanwhile are compared with the estimate of what they became.
// Neither has the searches of the block.
func (sc *Schedule) RecordTime(trials []plan.Trial, took, before time.Duration) {
	if estimate := max(before, sc.Plan.Estimate(trials)); estimate > 0 {
		sc.pace = max(sc.pace, float64(took)/float64(estimate))
	}
}

// RecordSearch records how long the searches of a group took. How many steps a search needs depends on the
// path and on the machine, so it corrects the estimates of this workload alone.
func (sc *Schedule) RecordSearch(group []plan.Trial, took time.Duration) {
	w := group[0].Workload.Name()
	p := sc.paces[w]
	sc.paces[w] = pace{p.took + took, p.estimate + sc.Plan.Estimate(group)}
}

// WithoutSearches are the trials that are no searches.
func WithoutSearches(trials []plan.Trial) []plan.Trial {
	return slices.DeleteFunc(slices.Clone(trials), plan.Trial.IsSearch)
}

// Finished is the last block that has run completely.
func (sc *Schedule) Finished() int {
	if sc.Done < len(sc.Todo) {
		return sc.Todo[sc.Done].Block - 1
	}
	return sc.Plan.Blocks
}

// Drop stops measuring a workload for a mode, and reports whether it was the mode's last
// workload.
func (sc *Schedule) Drop(mode, workload string) (last bool) {
	sc.dropped = append(sc.dropped, dropped{mode, workload})
	return !slices.ContainsFunc(sc.Plan.Workloads, func(w study.Workload) bool {
		return w.ID != study.CostPassID && !sc.gaveUp(mode, w.Name())
	})
}

// gaveUp reports whether a workload was dropped for a mode, or the one that it varies.
func (sc *Schedule) gaveUp(mode, workload string) bool {
	of, _ := result.VariedFrom(workload)
	return slices.Contains(sc.dropped, dropped{mode, workload}) || slices.Contains(sc.dropped, dropped{mode, of})
}

// Measurable removes the trials of modes that have failed, and of workloads that were
// dropped.
func (sc *Schedule) Measurable(trials []plan.Trial) []plan.Trial {
	measured := map[string]bool{}
	for _, m := range sc.cfg.Modes() {
		measured[m.ID] = m.Status == result.ModeMeasured
	}
	return slices.DeleteFunc(slices.Clone(trials), func(t plan.Trial) bool {
		return !measured[t.Mode] || sc.gaveUp(t.Mode, t.Workload.ID)
	})
}

// Tails are the trials of the tail pass that have not run yet. All modes have one rate: half of what the slowest
// reached. A workload has none if no mode has a valid trial of it. A resumed run keeps the rate.
func (sc *Schedule) Tails() []plan.Trial {
	type place struct {
		block          int
		mode, workload string
	}
	rates, ran := map[string]float64{}, map[place]bool{}
	for _, d := range sc.outcomes {
		if d.tailRate > 0 {
			rates[d.workload] = d.tailRate
			at := place{d.block, d.mode, d.workload}
			ran[at] = ran[at] || d.status == result.TrialOK
		}
	}
	var out []plan.Trial
	for _, t := range sc.Measurable(plan.Tails(sc.cfg.Study)) {
		w := t.Workload.Name()
		if rates[w] == 0 {
			rates[w] = verdict.TailRate(sc.cfg.Modes(), &sc.values, w)
		}
		if rates[w] > 0 && !ran[place{t.Block, t.Mode, w}] {
			out = append(out, t.AtTailRate(rates[w]))
		}
	}
	return out
}

// Unprofiled are the trials that only sample stacks and that have not run yet, with the
// length of the trials that count.
func (sc *Schedule) Unprofiled() []plan.Trial {
	var out []plan.Trial
	block := max(1, sc.Finished())
	for _, t := range sc.Measurable(plan.Profiles(sc.cfg.Study)) {
		t.Block = block
		done := false
		for _, d := range sc.outcomes {
			if d.mode != t.Mode || d.workload != t.Workload.ID {
				continue
			}
			done = done || d.profiled && d.status == result.TrialOK
			if !d.aside() && d.window > 0 {
				t.Workload, t.Held = timed(t.Workload, duration(d.warmup), duration(d.window)), duration(d.held)
			}
		}
		if !done {
			out = append(out, t)
		}
	}
	return out
}
