package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/analysis"
	"tare/internal/driver"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/study"
	"tare/internal/timelimit"
	"tare/internal/warning"
)

// modeUnderTest is one mode of a run with its path and its agents. Its mode has the id,
// title and baseline of the study.
type modeUnderTest struct {
	mode      driver.Mode
	study     study.Mode
	control   bool // a second copy of the baseline
	driver    driver.Driver
	setupTime time.Duration // time that the set-up took
	setups    int           // number of set-ups, in all sessions of the run
	status    result.ModeStatus
	reason    string
	path      *driver.Path // nil while it is not set up
	topology  *result.Topology
	proof     *result.Proof // of the last trial
	facts     []result.Fact
	probed    []result.Fact      // what the probe of the path adds, once in a session
	stacks    []driver.Settings  // settings of the network stacks on its path, as far as they can be read
	agents    []*agentPair       // one for each pair
	clock     *driver.SetupClock // of its last set-up, nil if that was not measured
}

// agentPair are the two agents of a pair, nil if they have not been started.
type agentPair struct{ client, server *agent.Client }

func (s *modeUnderTest) result() result.Mode {
	m := result.Mode{
		ID: s.mode.ID, Title: s.mode.Title, Description: s.study.Description, Status: s.status, Reason: s.reason,
		Baseline: s.mode.Baseline, Like: s.mode.Like, Control: s.control, Topology: s.topology, Proof: s.proof, Facts: slices.Concat(optionFacts(s.study, s.facts), s.facts, s.probed),
	}
	if s.setups > 1 {
		m.Facts = append(m.Facts, result.Fact{Name: "made", Value: fmt.Sprintf("%d times", s.setups)})
	}
	if s.study.Mode != s.mode.ID {
		m.Mode = s.study.Mode
	}
	return m
}

// testbed is the modes of a run, which it sets up, recreates and takes down.
type testbed struct {
	state
	tested     []*modeUnderTest
	madeBefore map[string]int // the last set-up of each mode in the run that is resumed
}

// modes are the current results of the run's modes.
func (r *testbed) modes() []result.Mode {
	out := []result.Mode{}
	for _, s := range r.tested {
		out = append(out, s.result())
	}
	return out
}

// optionFacts lists the options and limits that the study sets for a mode, as facts of
// it, without those that were read back.
func optionFacts(m study.Mode, read []result.Fact) []result.Fact {
	var out []result.Fact
	for _, end := range []struct {
		name string
		of   study.Limit
	}{{"client", m.Limits.Client}, {"server", m.Limits.Server}} {
		if end.of != (study.Limit{}) {
			out = append(out, result.Fact{Name: end.name + " limit", Value: end.of.String()})
		}
	}
	for _, f := range m.Engine.Fields() {
		if f.Value.String() != "" {
			out = append(out, result.Fact{Name: "engine " + f.Key, Value: f.Value.String()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Options)) {
		out = append(out, result.Fact{Name: "option " + name, Value: m.Options[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(m.With)) {
		out = append(out, result.Fact{Name: "with " + name, Value: m.With[name]})
	}
	return slices.DeleteFunc(out, func(f result.Fact) bool {
		return slices.ContainsFunc(read, func(r result.Fact) bool { return r.Name == f.Name })
	})
}

func (r *testbed) underTest(mode string) *modeUnderTest {
	i := slices.IndexFunc(r.tested, func(s *modeUnderTest) bool { return s.mode.ID == mode })
	if i < 0 {
		return nil
	}
	return r.tested[i]
}

// settleMode sets the final status of a mode and reports it.
func (r *testbed) settleMode(s *modeUnderTest, status result.ModeStatus, reason string) {
	reason = oneLine(reason)
	s.status, s.reason = status, reason
	r.tell(live.ModeSettled{Mode: s.mode.ID, Status: status, Reason: reason})
}

// oneLine separates what several errors say, each of which is a line.
func oneLine(reason string) string { return strings.ReplaceAll(reason, "\n", "; ") }

// minSetupTimeout is the minimum set-up timeout of a mode. See setupTimeout for modes
// that take longer.
const minSetupTimeout = 20 * time.Second

// setupTimeFactor is the factor between the estimated set-up time of a mode and its
// timeout, so that a small, busy machine does not time out.
const setupTimeFactor = 20

// pairSetupTimeout is added for each pair: two containers take half a second to start, and
// longer the more there are.
const pairSetupTimeout = 2 * time.Second

// setupTimeout is the set-up timeout of a mode with a number of pairs. It is longer on an
// emulated CPU.
func setupTimeout(m driver.Mode, pairs int) time.Duration {
	return timelimit.Scaled(minSetupTimeout + setupTimeFactor*m.SetupTime + time.Duration(pairs)*pairSetupTimeout)
}

// setUpAll sets up every mode of the plan. If a mode fails, it is recorded and the others
// continue; only a cancelled context or an unknown mode ends the run.
func (r *testbed) setUpAll(ctx context.Context) error {
	for _, id := range r.schedule.Plan.Modes {
		s, err := r.resolve(id)
		if err != nil {
			return err
		}
		r.tested = append(r.tested, s)
		if why, void := r.schedule.Void(id); void {
			// A resumed run keeps the mode void.
			r.settleMode(s, result.ModeVoid, why)
			continue
		}
		err = r.setUp(ctx, s, nil)
		if ctx.Err() != nil {
			s.status, s.reason = result.ModeFailed, "interrupted during its set-up"
			return ctx.Err()
		}
		lacks, lacking := driver.AsUnsupported(err)
		switch {
		case err == nil:
			s.status, s.setups = result.ModeMeasured, r.madeBefore[id]+1
			if !r.dropUnsupported(s) {
				r.probe(ctx, s)
				r.tell(live.ModeSettled{Mode: id, Status: s.status, Took: s.setupTime})
			}
		case lacking:
			r.settleMode(s, result.ModeUnsupported, lacks.Reason)
		default:
			r.settleMode(s, result.ModeFailed, err.Error())
		}
	}
	if !slices.ContainsFunc(r.tested, func(s *modeUnderTest) bool { return s.status == result.ModeMeasured }) {
		return fmt.Errorf("%w: no mode could be set up; the reasons are above", ErrNothing)
	}
	return r.lonely()
}

// lastSetups is the highest number of a set-up of each mode in trials of earlier sessions.
func lastSetups(trials []result.Trial) map[string]int {
	out := map[string]int{}
	for _, t := range trials {
		out[t.Mode] = max(out[t.Mode], t.Setup)
	}
	return out
}

// lonely returns an error if no mode can be compared with its baseline: trials of the rest would answer nothing.
func (r *testbed) lonely() error {
	// Void ones had trials before this run was resumed.
	lives := func(id string) bool {
		return slices.ContainsFunc(r.tested, func(s *modeUnderTest) bool {
			return s.mode.ID == id && (s.status == result.ModeMeasured || s.status == result.ModeVoid)
		})
	}
	asked := false
	var why []string
	for _, s := range r.tested {
		if s.status != result.ModeMeasured && s.status != result.ModeVoid && !s.control {
			why = append(why, s.mode.ID+" is "+string(s.status)+": "+s.reason)
		}
		if s.mode.Baseline == "" || s.control {
			continue
		}
		if asked = true; lives(s.mode.ID) && lives(s.mode.Baseline) {
			return nil
		}
	}
	if !asked || len(why) == 0 {
		return nil // baselines are all that was asked for, or a mode is measured without its own
	}
	return fmt.Errorf("%w: no mode is left to compare with a baseline: %s", ErrNothing, strings.Join(why, "; "))
}

// dropUnsupported leaves out the workloads that the mode cannot carry. If none is left, the mode
// is unsupported, and its path is closed with the others.
func (r *testbed) dropUnsupported(s *modeUnderTest) (none bool) {
	last := false
	var left []study.Workload
	why := map[string]string{}
	for _, w := range r.schedule.Plan.Workloads {
		if why[w.ID] = s.whyNot(w); why[w.ID] != "" {
			left = append(left, w)
			last = r.schedule.Drop(s.mode.ID, w.ID)
		}
	}
	if last {
		r.settleMode(s, result.ModeUnsupported, fmt.Sprintf("the mode carries no workload of the study. %s is left out: %s", left[0].ID, why[left[0].ID]))
		return true
	}
	for _, w := range left {
		if w.ID != study.CostPassID { // it repeats one of the others
			r.warn(warning.WorkloadLeftOut, s.mode.ID+" "+w.ID, "the mode has no result for %s: %s", w.ID, why[w.ID])
		}
	}
	return false
}

// resolve finds a mode of the plan and its driver.
func (r *testbed) resolve(id string) (*modeUnderTest, error) {
	asked, _ := r.cfg.Study.ModeNamed(id)
	d, m, err := r.cfg.Drivers.For(asked.Mode)
	if err != nil {
		return nil, err
	}
	of := analysis.ModeOf(r.cfg.Study, id, m.Title, m.Baseline)
	m.ID, m.Title, m.Baseline = of.ID, of.Title, of.Baseline
	return &modeUnderTest{study: asked, control: of.Control, driver: d, mode: m}, nil
}

// ErrNothing means that no mode could be set up, or none of those that are compared.
var ErrNothing = errors.New("nothing can be measured")

// setUp sets up the path and the agents of one mode. clock is nil unless the set-up is measured.
func (r *testbed) setUp(ctx context.Context, s *modeUnderTest, clock *driver.SetupClock) error {
	began := time.Now()
	wait := setupTimeout(s.mode, r.mostPairs())
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("the set-up timed out after %s", wait))
	defer cancel()
	o := r.order(s)
	o.Clock, s.clock = clock, clock
	path, err := s.driver.Provision(ctx, o)
	if ctx.Err() != nil && err != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err) // a probe would only say the same
	}
	if err != nil {
		// The probe distinguishes a failure from an unsupported mode.
		o.Clock = nil
		if _, lacking := driver.AsUnsupported(err); !lacking {
			if probed := s.driver.Probe(ctx, o); probed != nil {
				err = probed
			}
		}
		return err
	}
	s.path, s.facts = path, path.Facts
	r.noteEmulation(s)
	r.giveOf(s, path.Warnings)
	t, err := s.path.Topology()
	if err != nil {
		return err
	}
	s.topology = &t
	if stacks, facts, read := r.observer.ReadSettings(ctx, s.path); read {
		s.stacks, s.facts = stacks, append(slices.Clip(s.facts), facts...)
	}
	for range s.path.Pairs {
		s.agents = append(s.agents, &agentPair{})
	}
	if err := s.start(ctx, r.cfg.RunID, len(s.agents)); err != nil {
		return err
	}
	s.setupTime = time.Since(began)
	return nil
}

// emulatedTitle is appended to the title of a mode that runs partly on an emulated CPU.
const emulatedTitle = " (emulated CPU)"

// noteEmulation marks a mode that runs partly on an emulated CPU, and warns about it.
func (r *testbed) noteEmulation(s *modeUnderTest) {
	if s.path.Emulated == "" {
		return
	}
	if !strings.HasSuffix(s.mode.Title, emulatedTitle) {
		s.mode.Title += emulatedTitle
	}
	r.warn(warning.EmulatedCPU, s.mode.ID, "a program emulates the CPU of %s: rates and CPU cost are those of the emulator. Use a machine where KVM works.", s.path.Emulated)
}

// order is the request to the driver for a mode of the study.
func (r *testbed) order(s *modeUnderTest) driver.Order {
	return driver.Order{
		Mode: s.study.Mode, Name: s.mode.ID, Run: r.cfg.RunID, Label: label(s.mode.ID, slices.Index(r.schedule.Plan.Modes, s.mode.ID)),
		Pairs: r.mostPairs(), Limits: s.study.Limits, Options: s.study.Options, MTU: s.study.MTU, With: s.study.With,
		Engine: s.study.Engine,
	}
}

// underlay is the link between the mode's hosts, zero if it is unknown.
func (s *modeUnderTest) underlay() study.Lab {
	if s.path == nil || s.path.Underlay == nil {
		return study.Lab{}
	}
	return study.Lab{MTU: s.path.Underlay.MTU, Rate: study.Rate(s.path.Underlay.Rate)}
}

// Path is the path of the mode, nil while it is not set up.
func (s *modeUnderTest) Path() *driver.Path { return s.path }

// AgentOn returns an agent of the mode that runs on a host, nil if there is none.
func (s *modeUnderTest) AgentOn(host string) evidence.Agent {
	if s.path == nil {
		return nil
	}
	for i, at := range s.agents {
		pair := s.path.Pairs[i]
		if pair.Client.Host == host && at.client != nil {
			return at.client
		}
		if pair.Server.Host == host && at.server != nil {
			return at.server
		}
	}
	return nil
}

// maxLabel bounds a lab's label, which becomes part of names of files and namespaces.
const maxLabel = 64

// label converts a mode's name for use in names of files and namespaces. The mode's place
// in the plan distinguishes two long names with the same prefix.
func label(name string, place int) string {
	safe := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/:@", r) {
			return '.'
		}
		return r
	}, name)
	if len(safe) > maxLabel {
		return fmt.Sprintf("%s.%d", safe[:maxLabel], place)
	}
	return safe
}

// mostPairs is the number of pairs of endpoints that the run's workloads need.
func (r *testbed) mostPairs() int {
	most := 1
	for _, w := range r.schedule.Plan.Workloads {
		most = max(most, w.Endpoints())
	}
	return most
}

// start starts the agents of the first n pairs that are not running.
func (s *modeUnderTest) start(ctx context.Context, run string, n int) error {
	for i, at := range s.agents[:n] {
		pair := s.path.Pairs[i]
		for _, a := range []struct {
			end driver.Endpoint
			at  **agent.Client
		}{{pair.Client, &at.client}, {pair.Server, &at.server}} {
			if *a.at != nil && (*a.at).Err() == nil {
				continue
			}
			c, err := agent.Start(ctx, a.end.Launcher, run, s.mode.ID+"@"+a.end.Name)
			if err != nil {
				return err
			}
			if *a.at != nil {
				_ = (*a.at).Close() // it has exited; this only closes its pipes
			}
			*a.at = c
		}
	}
	return nil
}

// stopAgents stops all agents in parallel, so that the next attempt starts new ones.
func (s *modeUnderTest) stopAgents() error {
	var gone []*agent.Client
	for _, at := range s.agents {
		for _, c := range []**agent.Client{&at.client, &at.server} {
			if *c != nil {
				gone = append(gone, *c)
				*c = nil
			}
		}
	}
	errs := make([]error, len(gone))
	var wg sync.WaitGroup
	for i, c := range gone {
		wg.Go(func() { errs[i] = c.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// teardownWait bounds the teardown of a run. It applies to a context of its own, because
// an interrupted run is taken down like any other. Engines take a second or two each.
func teardownWait() time.Duration { return timelimit.Scaled(time.Minute) }

// teardown stops the agents and closes the paths of all modes in parallel. All agents
// stop first, so that no path closes while agents of another mode still run.
func (r *testbed) teardown() error {
	return errors.Join(r.forEachMode((*modeUnderTest).stopAgents), r.forEachMode((*modeUnderTest).takeDown))
}

// forEachMode calls do for all modes in parallel.
func (r *testbed) forEachMode(do func(*modeUnderTest) error) error {
	errs := make([]error, len(r.tested))
	var wg sync.WaitGroup
	for i, s := range r.tested {
		wg.Go(func() { errs[i] = do(s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// recreateDue recreates the modes that are due before a block: sandboxes, devices,
// addresses and agents. Properties that one set-up fixes at random, such as the hash of a
// connection or the CPU of a process, then vary between blocks, and their variation is
// part of the measured spread instead of a bias of the mode.
func (r *testbed) recreateDue(ctx context.Context, block int) error {
	began := time.Now()
	var made []string
	for _, s := range r.tested {
		if s.status != result.ModeMeasured || r.schedule.Plan.SetsUp(block) || !r.cfg.Study.Recreate.Due(block, s.setupTime) {
			continue
		}
		if err := r.recreate(ctx, s); err != nil {
			return err
		}
		if s.status == result.ModeMeasured {
			made = append(made, s.mode.ID)
		}
	}
	if len(made) > 0 {
		r.tell(live.Recreated{Block: block, Modes: made, Took: time.Since(began)})
	}
	return nil
}

// recreate takes a mode down and sets it up again, with a second attempt if the first
// fails. If both fail, the mode has failed; only an interruption is an error.
func (r *testbed) recreate(ctx context.Context, s *modeUnderTest) error {
	err := s.takeDown()
	if err != nil {
		// Remaining resources would block a new set-up; the end of the run tries to
		// remove them again.
		r.settleMode(s, result.ModeFailed, fmt.Sprintf("cannot take the mode down to recreate it: %v", err))
		return nil
	}
	for range attempts {
		if err = r.setUp(ctx, s, nil); err == nil {
			s.setups++
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if down := s.takeDown(); down != nil {
			err = errors.Join(err, down)
			break
		}
	}
	r.settleMode(s, result.ModeFailed, fmt.Sprintf("cannot recreate the mode: %v", err))
	return nil
}

// recreateLost recreates the modes of trials whose paths are lost, such as after the
// connection to a host was cut: the next attempt then has a path.
func (r *testbed) recreateLost(ctx context.Context, trials []plan.Trial) error {
	for _, t := range trials {
		s := r.underTest(t.Mode)
		if s.status != result.ModeMeasured || s.lost() == nil {
			continue
		}
		if err := r.recreate(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// lost returns why the mode's path can carry no further trial, nil if it can.
func (s *modeUnderTest) lost() error {
	if s == nil || s.path == nil || s.path.Lost == nil {
		return nil
	}
	return s.path.Lost()
}

// takeDown stops a mode's agents and closes its path. It has a context of its own, so
// that an interruption cannot leave half a path. It may be called again after an error.
func (s *modeUnderTest) takeDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), teardownWait())
	defer cancel()
	err := s.stopAgents()
	if s.path != nil {
		if cerr := s.path.Close(ctx); cerr != nil {
			return errors.Join(err, cerr)
		}
		s.path = nil
	}
	s.agents = nil
	return err
}
