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
	if err == nil && ctx.Err() == nil {
		r.out.Status = result.RunComplete
	} else if ctx.Err() != nil {
		r.out.Status, err = result.RunInterrupted, nil
	} else {
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
	cfg    Config
	plan   plan.Plan
	stages []*stage
	trials []result.Trial
	watch  *observe.Watch
	out    result.Run
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
	todo := r.remaining()
	r.tell(live.Planned{
		RunID: r.out.ID, Dir: r.cfg.Dir.Path(), Profile: r.out.Profile, Modes: r.plan.Modes,
		Trials: len(todo), Blocks: r.plan.Blocks, Estimate: r.plan.Estimate(todo) + time.Duration(len(r.plan.Modes))*plan.ModeOverhead,
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

// blocks runs the trials in their order.
func (r *run) blocks(ctx context.Context) error {
	r.plan = r.plan.Without(r.unready()...)
	began, todo := time.Now(), r.remaining()
	for i, t := range todo {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := r.stage(t.Mode)
		if s == nil || s.status != result.ModeMeasured {
			continue
		}
		if r.overtime(began, todo, i) {
			r.warn("max_time", "run", "stopped after block %d of %d: the next would have ended after the time limit of %s",
				t.Block-1, r.plan.Blocks, r.cfg.Study.MaxTime)
			return nil
		}
		for attempt := 1; attempt <= attempts; attempt++ {
			r.tell(live.TrialStarted{Done: i, Total: len(todo), Block: t.Block, Blocks: r.plan.Blocks, Mode: t.Mode,
				Workload: t.Workload.ID, Attempt: attempt, Remaining: r.plan.Estimate(todo[i:])})
			again, err := r.attempt(ctx, s, t, attempt)
			if err != nil {
				return err
			}
			if !again {
				break
			}
		}
	}
	return nil
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

// attempts is how often a trial is tried in its block: a trial that fails twice
// fails its mode.
const attempts = 2

// attempt runs one trial and records it. again asks for another try.
func (r *run) attempt(ctx context.Context, s *stage, t plan.Trial, attempt int) (again bool, err error) {
	trial, fail := r.trial(ctx, s, t, attempt)
	if ctx.Err() != nil {
		// What an interruption cut short is no result, not even a failed one.
		return false, ctx.Err()
	}
	if err := r.record(trial); err != nil {
		return false, err
	}
	switch {
	case fail == nil:
		return false, nil
	case errors.As(fail, new(*voidError)):
		r.settle(s, result.ModeVoid, fail.Error())
		return false, nil
	case attempt == attempts:
		r.settle(s, result.ModeFailed, fmt.Sprintf("a trial of %s failed %d times in block %d: %v", t.Workload.ID, attempts, t.Block, fail))
		return false, nil
	}
	return true, nil
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
	cells, warnings := result.Cells(r.out.Modes, r.cfg.Study.Names(), r.trials, Rule(r.cfg.Study))
	r.out.Cells = cells
	for _, w := range r.cfg.Study.Workloads {
		r.compareEnds(w)
	}
	for _, w := range warnings {
		r.warn(w.Code, w.Scope, "%s", w.Text)
	}
}

// Rule is how the cells of a study are judged.
func Rule(s study.Study) result.Rule {
	return result.Rule{Margin: s.Margin, Indicative: s.Profile == study.Quick}
}
