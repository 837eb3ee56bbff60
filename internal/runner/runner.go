// Package runner executes a plan: it sets up the modes, proves their paths, runs the
// trials, records each trial when it ends, and takes everything down again in every case.
// It owns all deadlines.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/analysis"
	"tare/internal/driver"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/runid"
	"tare/internal/runner/evidence"
	"tare/internal/runner/schedule"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/warning"
)

// Config configures a run.
type Config struct {
	Study    study.Study     // resolved, with its seed
	RunID    string          // label of everything that the run creates
	Machines driver.HostInfo // what is known about its hosts
	Drivers  driver.Registry
	Dir      *store.Dir
	Listener live.Listener
	Build    result.Build
	// Resumed is what the run that is resumed has already; zero for a new run.
	Resumed store.Resumption
	// Force means that trials of another experiment are set apart, instead of an OtherExperimentError.
	Force bool
	// Progress is the interval at which agents report the progress of a trial, for
	// live.Progress; intermediate results then follow after every block. 0 disables both.
	Progress time.Duration

	serverLate time.Duration // by how much the server of a measured set-up listens later, for tests
	eventLimit time.Duration // maximum time of an event, for tests; 0 for the driver's
}

// Run executes the study, writes trials.ndjson while it runs and run.json at the end, and
// returns the content of run.json. An interruption is not an error; the status of the run
// shows it. An error means that the run could not be recorded or could not be removed
// completely, or is an OtherExperimentError.
func Run(ctx context.Context, cfg Config) (result.Run, error) { return newRun(cfg).whole(ctx) }

// newRun returns a run that has not begun.
func newRun(cfg Config) *run {
	r := &run{}
	r.cfg, r.settings, r.last = cfg, plan.Settings(cfg.Study), cfg.Resumed.Last
	r.schedule, r.observer = r.scheduling(), r.observing()
	r.schedule.Began = time.Now()
	r.out = result.Run{
		Schema: result.Schema, ID: cfg.RunID, Started: r.now(), Status: result.RunComplete, Tare: cfg.Build,
		Seed: cfg.Study.Seed, Profile: cfg.Study.Profile, Hosts: cfg.Machines.Report, Warnings: []result.Warning{},
	}
	r.resume()
	r.madeBefore = lastSetups(r.cfg.Resumed.Trials)
	r.cfg.Resumed.Trials = nil // the schedule has what decides by them, and trials.ndjson the rest
	r.measure = r.measureGroup
	return r
}

// resume sets what the run takes over from the trials that it resumes.
func (r *run) resume() {
	earlier := r.cfg.Resumed
	r.out.Apart, r.out.Duplicates = earlier.Apart, earlier.Duplicates
	if len(earlier.Trials) > 0 {
		r.out.Started = earlier.Trials[0].Started
	}
	r.kept = keptCongestion(r.cfg.Study, earlier.Trials)
	r.factsBefore = factsHashes(earlier.Trials)
}

// whole executes the run and records its result.
func (r *run) whole(ctx context.Context) (result.Run, error) {
	err := r.execute(ctx)
	// After the last trial there is nothing to interrupt: a run whose trials all ended is complete.
	interrupted := err != nil && ctx.Err() != nil
	down := errors.Join(r.teardown(), r.observer.Close())
	if other, ok := errors.AsType[*OtherExperimentError](err); ok {
		other.Cleanup = errors.Join(r.cfg.Dir.WithdrawSession(), down)
		r.out.Status = result.RunFailed
		r.tell(live.Ended{Status: r.out.Status, Dir: r.cfg.Dir.Path()})
		return r.out, other
	}
	switch {
	case interrupted:
		r.out.Status, err = result.RunInterrupted, nil
	case err != nil:
		r.out.Status = result.RunFailed
	}
	if !errors.Is(err, store.ErrGone) {
		err = errors.Join(err, r.conclude())
	}
	r.tell(live.Ended{Status: r.out.Status, Dir: r.cfg.Dir.Path()})
	return r.out, errors.Join(err, down)
}

// conclude evaluates the run and writes its result. A run without one is not complete.
func (r *run) conclude() error {
	err := r.evaluate()
	if err == nil && r.out.Status == result.RunComplete {
		err = r.empty()
	}
	if err != nil {
		r.out.Status = result.RunFailed
	}
	werr := r.cfg.Dir.WriteRun(r.out)
	if werr != nil {
		r.out.Status = result.RunFailed
	}
	if errors.Is(werr, store.ErrGone) {
		return werr // which is why nothing could be read either
	}
	return errors.Join(err, werr)
}

// run decides which trials run, and judges them.
type run struct {
	measurement
	invalid string // the first invalid trial and its reason
	kept    string // congestion control of the trials of the run that is resumed
	// factsBefore are the hashes of the facts of each mode in those trials, see result.FactsHash.
	factsBefore map[string][]string
	// measure runs a group of trials; tests replay recorded ones instead.
	measure func(ctx context.Context, trials []plan.Trial, attempt int) []*trialRun
}

// state is what all parts of a run use: what was asked and decided, and what it records and tells.
type state struct {
	cfg      Config
	schedule *schedule.Schedule
	observer *evidence.Observer
	out      result.Run
	settings result.Settings // what decides the trials
	last     int             // number of the last trial
	telling  sync.Mutex      // agents report progress concurrently
}

// scheduling creates the schedule, which decides between the run's blocks.
func (r *run) scheduling() *schedule.Schedule {
	return schedule.New(schedule.Config{
		Study: r.cfg.Study, Earlier: r.cfg.Resumed.Trials, Modes: r.modes, SetupTime: func(mode string) time.Duration { return r.underTest(mode).setupTime },
		Report: &r.out, Tell: r.tell, Warn: r.warn,
	}, plan.Make(r.cfg.Study).WithSetupTimes(r.cfg.Drivers.SetupTimes(r.cfg.Study)))
}

// observing creates the observer of the run's trials.
func (r *run) observing() *evidence.Observer {
	return evidence.New(evidence.Config{
		Run: r.cfg.RunID, PID: os.Getpid(), Asked: r.cfg.Study.Evidence, Hosts: r.cfg.Machines.Hosts, Warn: r.warn, AppendFile: r.cfg.Dir.AppendFile,
	})
}

func (r *state) tell(e live.Event) {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.cfg.Listener.Handle(e)
}

func (r *state) warn(code warning.Code, scope, format string, args ...any) {
	r.give(warning.New(code, scope, format, args...))
}

// give adds a warning that is not there yet.
func (r *state) give(w result.Warning) {
	if slices.Contains(r.out.Warnings, w) {
		return
	}
	r.out.Warnings = append(r.out.Warnings, w)
	r.tell(live.WarningRaised{Warning: w})
}

func (r *run) execute(ctx context.Context) error {
	r.announce()
	for _, w := range r.cfg.Machines.Warnings {
		r.give(w)
	}
	r.warnBeforeStart()
	r.warnResumed()
	// Before anything is set up: a run that is killed is reported and resumed by it.
	if err := r.recordSession(); err != nil {
		return err
	}
	if slices.ContainsFunc(r.schedule.Plan.Workloads, evidence.OverUDP) {
		r.observer.WatchDrops()
	}
	r.out.CostPass = analysis.RequestedPass(r.cfg.Study)
	failed := r.setUpAll(ctx)
	if err := r.compareFacts(); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	r.warnNeighbours()
	r.describe(ctx)
	if err := r.decide(ctx); err != nil {
		return err
	}
	if err := r.recordSession(); err != nil {
		return err
	}
	return r.blocks(ctx)
}

// announce estimates the run and tells what is planned.
func (r *run) announce() {
	todo := r.schedule.Remaining()
	takes := r.cfg.Drivers.SetupTime(r.cfg.Study)
	takes += r.schedule.Plan.Estimate(plan.Profiles(r.cfg.Study))
	r.schedule.Announced = r.schedule.Plan.Estimate(todo) + takes
	r.patience = r.schedule.Announced / patienceShare
	least := todo
	if i := slices.IndexFunc(todo, func(t plan.Trial) bool { return t.Block > r.schedule.Plan.MinBlocks }); i >= 0 {
		least = todo[:i]
	}
	r.tell(live.Planned{
		RunID: r.out.ID, Dir: r.cfg.Dir.Path(), Profile: r.out.Profile, Modes: r.schedule.Plan.Modes, Columns: columns(r.cfg.Study),
		Trials: len(todo), Blocks: r.schedule.Plan.Blocks, Estimate: r.schedule.Announced,
		MinBlocks: r.schedule.Plan.MinBlocks, MinTime: r.schedule.Plan.Estimate(least) + takes,
	})
}

// now is the time by the wall clock at the start of the run and the monotonic clock since: a wall clock that is set
// meanwhile changes neither durations nor the order of trials.
func (r *state) now() time.Time { return r.schedule.Began.Add(time.Since(r.schedule.Began)).UTC() }

// describe completes what is known of the hosts by what can be read once modes are set up.
func (r *run) describe(ctx context.Context) {
	if r.cfg.Machines.Describe == nil {
		return
	}
	hosts, warnings := r.cfg.Machines.Describe(ctx)
	r.out.Hosts = hosts
	for _, w := range warnings {
		r.give(w)
	}
}

// evaluate evaluates the run from its trials, and emits the warnings that follow. It reads
// them back: a run keeps none, so that it may have any number. Errors: those of
// [store.Dir.Recorded], after which the run has no cells.
func (r *run) evaluate() error {
	r.out.Finished = r.now()
	r.out.Modes = r.modes()
	trials, err := r.cfg.Dir.Recorded(r.session())
	if err != nil {
		return fmt.Errorf("evaluate the run: %w", err)
	}
	told := len(r.out.Warnings)
	r.out = analysis.Evaluate(r.out, r.evidence(trials))
	r.invalid = ""
	if i := slices.IndexFunc(trials, func(t result.Trial) bool { return t.Status == result.TrialInvalid }); i >= 0 {
		t := trials[i]
		r.invalid = fmt.Sprintf("%s %s in block %d: %s", t.Mode, t.Workload, t.Block, t.Reason)
	}
	for _, w := range r.out.Warnings[told:] {
		r.tell(live.WarningRaised{Warning: w})
	}
	return nil
}

// empty returns an error if no trial of the run gave a value that counts, or of the modes to compare none has: a run
// without a result is not complete.
func (r *run) empty() error {
	lacking := analysis.Empty(r.out)
	if len(r.out.Cells) > 0 && lacking == "" {
		return nil
	}
	var why []string
	for _, m := range r.out.Modes {
		if m.Status != result.ModeMeasured && m.Reason != "" {
			why = append(why, m.ID+" is "+string(m.Status)+": "+m.Reason)
		}
	}
	if n := r.out.Trials; n.Invalid > 0 {
		why = append(why, fmt.Sprintf("%d of %d trials are invalid; the first, %s", n.Invalid, n.OK+n.Invalid, r.invalid))
	}
	if len(why) == 0 {
		why = append(why, cmp.Or(lacking, "no trial gave a value"))
	}
	return fmt.Errorf("%w: %s", ErrNothing, strings.Join(why, "; "))
}

// evidence is the input of the evaluation of the run.
func (r *run) evidence(trials []result.Trial) analysis.Evidence {
	e := analysis.Evidence{
		Study: r.cfg.Study, Trials: trials, Lab: !r.cfg.Study.Target().Given(), Elsewhere: !r.cfg.Machines.Local(),
		Survey: analysis.Survey{Stacks: map[string][]analysis.Stack{}, Sockets: driver.SocketSettings(), Bridged: driver.SysctlBridgeIPv4, Congestion: driver.SysctlCongestion},
	}
	e.MissingCPUCost, e.FirstMissing = r.observer.MissingCPUCost()
	for _, s := range r.tested {
		for _, st := range s.stacks {
			e.Survey.Stacks[s.mode.ID] = append(e.Survey.Stacks[s.mode.ID], toAnalysisStack(st))
		}
	}
	return e
}

// toAnalysisStack converts the settings of a network stack for the evaluation.
func toAnalysisStack(st driver.Settings) analysis.Stack {
	out := analysis.Stack{At: st.At, Settings: st.Sysctls}
	for _, f := range st.Filters {
		out.Rules += f.Rules
		out.Docker = out.Docker || f.Docker
	}
	return out
}

// warnBeforeStart emits the warnings that are known before the first trial.
func (r *run) warnBeforeStart() {
	if r.cfg.Study.Pilot.Std() == 0 && r.cfg.Study.Profile != study.Paper {
		r.warn(warning.WarmupNotVerified, "run", "there are no pilot trials, so it is not verified that each mode was steady after the warm-up. Use --profile standard.")
	}
	ids, err := runid.Running()
	if err != nil {
		r.warn(warning.NotObserved, "run", "cannot look for other runs: %v", err)
	}
	if others := slices.DeleteFunc(ids, func(id string) bool { return id == r.out.ID || id == r.cfg.Machines.HeldBy }); len(others) > 0 {
		r.warn(warning.OtherRun, "run", "another run (%s) is in progress on this machine: the two disturb each other. Start one run at a time.", others[0])
	}
	r.warnSkipped()
	for _, w := range r.schedule.Plan.Workloads {
		switch {
		case w.ID == study.CostPassID: // same placement as its source workload
		case r.cfg.Machines.Apart():
		case len(r.cfg.Machines.CPUs) == 0 && w.Placement != "" && w.Placement != study.Free:
			r.warn(warning.PlacementFree, w.ID, "placement %s is not possible, because the CPUs of the hosts are not known: the schedulers place client and server, and results vary more. "+
				"Set placement: free.", w.Placement)
		case w.Placement == study.TwoCores && len(r.cfg.Machines.CPUs) < 2:
			r.warn(warning.OneCPU, w.ID, "placement two_cores needs two CPUs and there is one: client and server share it. Use more CPUs, or placement: one_core.")
		}
	}
}

// warnSkipped warns about limits of the study that the run does not apply.
func (r *run) warnSkipped() {
	if r.cfg.Study.Limits == (study.Limits{}) {
		return
	}
	var free []string
	for _, m := range r.cfg.Study.Modes {
		_, spec, err := r.cfg.Drivers.For(m.Mode)
		switch limits := r.cfg.Study.Limits; {
		case err != nil: // unknown mode; setUpAll reports it
		case spec.Limits == (study.Ends{}):
			free = append(free, m.Name())
		case !spec.Limits.Client && limits.Client != (study.Limit{}):
			free = append(free, "the client of "+m.Name())
		case !spec.Limits.Server && limits.Server != (study.Limit{}):
			free = append(free, "the server of "+m.Name())
		}
	}
	if len(free) > 0 {
		r.warn(warning.LimitsSkipped, "run", "the study's limits do not apply to %s, whose sandboxes no engine makes: the ratio of a limited mode to an unlimited one includes the cost of the limit. "+
			"Compare limited modes with each other.", strings.Join(free, ", "))
	}
}
