// Package runner carries out a plan: it sets up the modes, proves their paths,
// runs the trials, records each as it ends, and takes everything down again,
// whatever happened. It owns every deadline.
package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/live"
	"tare/internal/observe"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// Config is what a run needs.
type Config struct {
	Study    study.Study // resolved, with its seed
	Claim    lab.Claim
	Pin      bool // name namespaces under /run/netns
	Drivers  driver.Registry
	Dir      *result.Dir
	Listener live.Listener
	Build    result.Build
	Facts    []result.Fact    // of this machine
	Warnings []result.Warning // found before the run
	Done     []result.Trial   // of the run that is resumed
	CPUs     []int            // that trials may be placed on, ascending
}

// Run executes the study and writes trials.ndjson as it goes and run.json at its
// end. It returns what run.json holds. An interrupted run is no error: its status
// says so. The error is for what kept a run from being recorded at all, or left
// something behind.
func Run(ctx context.Context, cfg Config) (result.Run, error) {
	r := &run{cfg: cfg, plan: plan.Make(cfg.Study), trials: slices.Clone(cfg.Done), watch: observe.NewWatch(observe.Collectors("/proc"))}
	r.out = result.Run{
		Schema: result.Schema, ID: cfg.Claim.ID, Started: time.Now().UTC(), Status: result.RunComplete, Tare: cfg.Build,
		Seed: cfg.Study.Seed, Profile: cfg.Study.Profile, Hosts: hosts(cfg), Warnings: []result.Warning{},
	}
	if len(cfg.Done) > 0 {
		r.out.Started = cfg.Done[0].Started
	}
	err := r.execute(ctx)
	down := r.teardown()
	switch {
	case ctx.Err() != nil:
		r.out.Status, err = result.RunInterrupted, nil
	case err != nil:
		r.out.Status = result.RunFailed
	}
	r.finish()
	if werr := cfg.Dir.WriteRun(r.out); werr != nil {
		err = errors.Join(err, werr)
	}
	r.tell(live.Ended{Status: r.out.Status, Dir: cfg.Dir.Path()})
	return r.out, errors.Join(err, down)
}

type run struct {
	cfg     Config
	plan    plan.Plan
	stages  []*stage
	trials  []result.Trial
	dropped []dropped
	watch   *observe.Watch
	out     result.Run
}

func (r *run) tell(e live.Event) { r.cfg.Listener.Handle(e) }

func (r *run) warn(code, scope, format string, args ...any) {
	w := result.Warning{Code: code, Scope: scope, Text: fmt.Sprintf(format, args...)}
	if slices.Contains(r.out.Warnings, w) {
		return
	}
	r.out.Warnings = append(r.out.Warnings, w)
	r.tell(live.Warned{Warning: w})
}

func (r *run) execute(ctx context.Context) error {
	r.plan.Trials = r.plan.Without(r.cfg.Drivers.Planned(r.cfg.Study)...).Trials
	todo := r.remaining()
	r.tell(live.Planned{
		RunID: r.out.ID, Dir: r.cfg.Dir.Path(), Profile: r.out.Profile, Modes: r.plan.Modes,
		Trials: len(todo), Blocks: r.plan.Blocks, Estimate: r.plan.Estimate(todo) + r.cfg.Drivers.Takes(r.cfg.Study),
	})
	for _, w := range r.cfg.Warnings {
		r.warn(w.Code, w.Scope, "%s", w.Text)
	}
	r.circumstances()
	if err := r.setUp(ctx); err != nil {
		return err
	}
	return r.blocks(ctx)
}

// remaining is the plan without what a resumed run has already.
func (r *run) remaining() []plan.Trial {
	return slices.DeleteFunc(slices.Clone(r.plan.Trials), func(t plan.Trial) bool {
		return slices.ContainsFunc(r.cfg.Done, func(d result.Trial) bool {
			return d.Status == result.TrialOK && d.Block == t.Block && d.Mode == t.Mode && d.Workload == t.Workload.ID
		})
	})
}

// blocks runs the trials in their order: those that take turns together, the
// others one by one.
func (r *run) blocks(ctx context.Context) error {
	r.plan = r.plan.Without(r.unready()...)
	began, todo, done := time.Now(), r.remaining(), 0
	for _, group := range plan.Groups(todo) {
		if r.overtime(began, todo, done) {
			r.warn("max_time", "run", "stopped after block %d of %d: the next would have ended after the time limit of %s",
				group[0].Block-1, r.plan.Blocks, r.cfg.Study.MaxTime)
			return nil
		}
		pending := group
		for attempt := 1; attempt <= attempts; attempt++ {
			if pending = r.measurable(pending); len(pending) == 0 {
				break
			}
			r.tell(live.TrialStarted{Done: done, Total: len(todo), Block: group[0].Block, Blocks: r.plan.Blocks, Modes: modesOf(pending),
				Workload: group[0].Workload.ID, Attempt: attempt, Remaining: r.plan.Estimate(todo[done:])})
			var err error
			if pending, err = r.attempt(ctx, pending, attempt); err != nil {
				return err
			}
		}
		done += len(group)
	}
	return nil
}

func modesOf(trials []plan.Trial) []string {
	var modes []string
	for _, t := range trials {
		modes = append(modes, t.Mode)
	}
	return modes
}

// unready lists the modes that are not there to be measured.
func (r *run) unready() []string {
	var out []string
	for _, s := range r.stages {
		if s.status != result.ModeMeasured {
			out = append(out, s.mode.ID)
		}
	}
	return out
}

// overtime says, at the first trial of a block, whether the block would end
// after the study's time limit.
func (r *run) overtime(began time.Time, todo []plan.Trial, i int) bool {
	limit := r.cfg.Study.MaxTime.Std()
	if limit == 0 || i > 0 && todo[i-1].Block == todo[i].Block {
		return false
	}
	var block []plan.Trial
	for _, t := range todo[i:] {
		if t.Block == todo[i].Block {
			block = append(block, t)
		}
	}
	return time.Since(began)+r.plan.Estimate(block) > limit
}

// attempts is how often a trial is tried in its block: what fails twice is not
// tried in later blocks.
const attempts = 2

// attempt runs a group of trials and records them. It returns those that are to
// be tried again.
func (r *run) attempt(ctx context.Context, trials []plan.Trial, attempt int) (again []plan.Trial, err error) {
	lanes := r.lanes(trials, attempt)
	err = r.settleDown(ctx, lanes)
	if err == nil {
		if trials[0].Sliced() {
			r.inTurns(ctx, lanes)
		} else {
			r.atOnce(ctx, lanes[0])
		}
	}
	if ctx.Err() != nil {
		// What an interruption cut short is no result, not even a failed one.
		return nil, ctx.Err()
	}
	for _, l := range lanes {
		if err := r.record(l.conclude(len(r.trials) + 1)); err != nil {
			return nil, err
		}
		switch {
		case l.err == nil:
		case l.out.Void:
			r.settle(l.stage, result.ModeVoid, l.err.Error())
		case attempt == attempts:
			r.drop(l)
		default:
			again = append(again, l.Trial)
		}
	}
	return again, nil
}

func (r *run) record(t result.Trial) error {
	if err := r.cfg.Dir.Append(t); err != nil {
		return err
	}
	r.trials = append(r.trials, t)
	r.tell(live.TrialEnded{Trial: t})
	return nil
}

// finish turns trials into cells and counts them.
func (r *run) finish() {
	r.out.Finished = time.Now().UTC()
	r.out.Modes = []result.Mode{}
	for _, s := range r.stages {
		r.out.Modes = append(r.out.Modes, s.result())
	}
	r.out.Trials = result.Count(r.trials)
	cells, warnings := result.Cells(r.out.Modes, plan.Names(r.cfg.Study), r.trials, Rule(r.cfg.Study))
	r.out.Cells = cells
	for _, w := range r.plan.Workloads {
		r.compareEnds(w)
	}
	r.out.Scenarios = Scenarios(r.cfg.Study)
	r.out.Comparisons = result.Compare(r.out.Modes, plan.Names(r.cfg.Study), r.out.Scenarios, Asked(r.cfg.Study), r.trials, Rule(r.cfg.Study))
	agreements, disagreements := result.Agreements(r.out.Modes, Verified(r.cfg.Study), r.trials, Rule(r.cfg.Study))
	r.out.Agreements = agreements
	for _, w := range append(warnings, disagreements...) {
		r.warn(w.Code, w.Scope, "%s", w.Text)
	}
}

// Verified lists the workloads of a study that are weighed with a second tool.
func Verified(s study.Study) []result.Verified {
	var out []result.Verified
	twins := plan.Twins(s)
	for _, w := range s.Workloads {
		if w.VerifyWith != "" {
			out = append(out, result.Verified{Workload: w.Name(), Twin: twins[w.Name()], Tool: w.VerifyWith})
		}
	}
	return out
}

// Scenarios are those of a study, as results have them.
func Scenarios(s study.Study) []result.Scenario {
	var out []result.Scenario
	for _, sc := range plan.Scenarios(s) {
		out = append(out, result.Scenario(sc))
	}
	return out
}

// Asked lists the comparisons that a study asks for.
func Asked(s study.Study) []result.Asked {
	var out []result.Asked
	for _, c := range s.Compare {
		suffixes, sides := plan.Sides(s, c.A, c.B)
		for i, side := range sides {
			out = append(out, result.Asked{ID: c.Name() + suffixes[i], Title: c.Title, A: side[0], B: side[1]})
		}
	}
	return out
}

// Rule is how the cells of a study are judged.
func Rule(s study.Study) result.Rule {
	return result.Rule{Margin: s.Margin, Indicative: s.Profile == study.Quick}
}
