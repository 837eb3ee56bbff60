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
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/study"
	"tare/internal/warning"
)

// modeUnderTest is one mode of a run: its path and its agents. Its mode has the id, title
// and baseline that the study gives it; asked is what the study says of it.
type modeUnderTest struct {
	mode     driver.Mode
	study    study.Mode
	control  bool // the baseline once more
	driver   driver.Driver
	took     time.Duration // to be made
	made     int           // how often
	status   result.ModeStatus
	reason   string
	path     *driver.Path // nil while it is not set up
	topology *result.Topology
	proof    *result.Proof // the last one
	facts    []result.Fact
	stacks   []driver.Settings // how those on its path are set, as far as that can be read
	agents   []*ends           // as many as there are pairs
}

// ends are the two agents of a pair, nil where they have not been started.
type ends struct{ client, server *agent.Client }

func (s *modeUnderTest) result() result.Mode {
	m := result.Mode{
		ID: s.mode.ID, Title: s.mode.Title, Description: s.study.Description, Status: s.status, Reason: s.reason,
		Baseline: s.mode.Baseline, Control: s.control, Topology: s.topology, Proof: s.proof, Facts: slices.Concat(optionFacts(s.study, s.facts), s.facts),
	}
	if s.made > 1 {
		m.Facts = append(m.Facts, result.Fact{Name: "made", Value: fmt.Sprintf("%d times", s.made)})
	}
	if s.study.Mode != s.mode.ID {
		m.Mode = s.study.Mode
	}
	return m
}

// modes are those of the run as they are now.
func (r *run) modes() []result.Mode {
	out := []result.Mode{}
	for _, s := range r.tested {
		out = append(out, s.result())
	}
	return out
}

// optionFacts lists what the study told a mode, as facts of it, but for what was read back.
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
	for _, name := range slices.Sorted(maps.Keys(m.Options)) {
		out = append(out, result.Fact{Name: "option " + name, Value: m.Options[name]})
	}
	return slices.DeleteFunc(out, func(f result.Fact) bool {
		return slices.ContainsFunc(read, func(r result.Fact) bool { return r.Name == f.Name })
	})
}

func (r *run) underTest(mode string) *modeUnderTest {
	i := slices.IndexFunc(r.tested, func(s *modeUnderTest) bool { return s.mode.ID == mode })
	if i < 0 {
		return nil
	}
	return r.tested[i]
}

// settleMode fixes a mode's fate and tells it.
func (r *run) settleMode(s *modeUnderTest, status result.ModeStatus, reason string) {
	s.status, s.reason = status, reason
	r.tell(live.ModeSettled{Mode: s.mode.ID, Status: status, Reason: reason})
}

// provisionWait bounds the set-up of one mode of a few namespaces. What takes
// longer is waited for longer: see patience.
const provisionWait = 20 * time.Second

// setupTimeFactor is how much longer than on the machine of its estimate a mode may take
// to stand: a busy small machine is not to be taken for one that cannot.
const setupTimeFactor = 20

// setupTimeout is how long a run waits for a mode to stand, longer on an emulated CPU.
func setupTimeout(m driver.Mode) time.Duration {
	return driver.ScaleTimeout(provisionWait + setupTimeFactor*m.SetupTime)
}

// setUpAll builds every mode of the plan. A mode that cannot be built is noted and
// the others go on; only a cancelled context or an unknown mode ends the run.
func (r *run) setUpAll(ctx context.Context) error {
	for _, id := range r.schedule.Plan.Modes {
		s, err := r.resolve(id)
		if err != nil {
			return err
		}
		r.tested = append(r.tested, s)
		if why, void := voidIn(r.cfg.Done, id); void {
			// A resumed run does not forget.
			r.settleMode(s, result.ModeVoid, why)
			continue
		}
		err = r.setUp(ctx, s)
		if ctx.Err() != nil {
			s.status, s.reason = result.ModeFailed, "interrupted before it was ready"
			return ctx.Err()
		}
		lacks, lacking := driver.AsUnsupported(err)
		switch {
		case err == nil:
			s.status, s.made = result.ModeMeasured, 1
			r.tell(live.ModeSettled{Mode: id, Status: s.status, Took: s.took})
		case lacking:
			r.settleMode(s, result.ModeUnsupported, lacks.Reason)
		default:
			r.settleMode(s, result.ModeFailed, err.Error())
		}
	}
	if !slices.ContainsFunc(r.tested, func(s *modeUnderTest) bool { return s.status == result.ModeMeasured }) {
		return ErrNothing
	}
	return nil
}

// resolve finds what a mode of the plan is and who builds it.
func (r *run) resolve(id string) (*modeUnderTest, error) {
	asked, _ := r.cfg.Study.ModeNamed(id)
	d, m, err := r.cfg.Drivers.For(asked.Mode)
	if err != nil {
		return nil, err
	}
	of := analysis.ModeOf(r.cfg.Study, id, m.Title, m.Baseline)
	m.ID, m.Title, m.Baseline = of.ID, of.Title, of.Baseline
	return &modeUnderTest{study: asked, control: of.Control, driver: d, mode: m}, nil
}

// voidIn finds the reason for which a mode came out void in earlier trials.
func voidIn(trials []result.Trial, mode string) (why string, void bool) {
	i := slices.IndexFunc(trials, func(t result.Trial) bool { return t.Mode == mode && t.Void })
	if i < 0 {
		return "", false
	}
	return trials[i].Reason, true
}

// ErrNothing means that not one mode could be made.
var ErrNothing = errors.New("not one of the modes could be made; the reasons are above")

// setUp makes the lab, the path and the agents of one mode.
func (r *run) setUp(ctx context.Context, s *modeUnderTest) error {
	began := time.Now()
	wait := setupTimeout(s.mode)
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("it was not ready within %s", wait))
	defer cancel()
	o := r.order(s)
	path, err := s.driver.Provision(ctx, o)
	if err != nil {
		// Whether it broke or cannot be built here at all, the probe tells.
		if _, lacking := driver.AsUnsupported(err); !lacking {
			if probed := s.driver.Probe(ctx, o); probed != nil {
				err = probed
			}
		}
		return err
	}
	s.path, s.facts = path, path.Facts
	r.emulated(s)
	t, err := s.path.Topology()
	if err != nil {
		return err
	}
	s.topology = &t
	if stacks, facts, read := r.observer.ReadSettings(ctx, s.path); read {
		s.stacks, s.facts = stacks, append(slices.Clip(s.facts), facts...)
	}
	for range s.path.Pairs {
		s.agents = append(s.agents, &ends{})
	}
	if err := s.start(ctx, r.cfg.RunID, len(s.agents)); err != nil {
		return err
	}
	s.took = time.Since(began)
	return nil
}

// emulatedTitle follows the title of a mode that is partly on an emulated CPU.
const emulatedTitle = " (emulated CPU)"

// emulated says of a mode that a part of it is on an emulated CPU.
func (r *run) emulated(s *modeUnderTest) {
	if s.path.Emulated == "" {
		return
	}
	if !strings.HasSuffix(s.mode.Title, emulatedTitle) {
		s.mode.Title += emulatedTitle
	}
	r.warn(warning.EmulatedCPU, s.mode.ID, "a program emulates the CPU of %s: rates and CPU cost are those of the emulator. Use a machine where KVM works.", s.path.Emulated)
}

// order is what a mode of the study asks of its driver.
func (r *run) order(s *modeUnderTest) driver.ModeSpec {
	return driver.ModeSpec{
		Mode: s.study.Mode, Name: s.mode.ID, Run: r.cfg.RunID, Label: label(s.mode.ID, slices.Index(r.schedule.Plan.Modes, s.mode.ID)),
		Pairs: r.mostPairs(), Limits: s.study.Limits, Options: s.study.Options, MTU: s.study.MTU,
	}
}

// underlay is the link between the mode's hosts, zero where nothing is known of it.
func (s *modeUnderTest) underlay() study.Lab {
	if s.path == nil || s.path.Underlay == nil {
		return study.Lab{}
	}
	return study.Lab{MTU: s.path.Underlay.MTU, Rate: study.Rate(s.path.Underlay.Rate)}
}

// Path is that of the mode, nil while it is not set up.
func (s *modeUnderTest) Path() *driver.Path { return s.path }

// AgentOn is an agent of the mode that runs on a host, nil where there is none.
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

// maxLabel bounds a lab's label: it becomes part of names of files and namespaces.
const maxLabel = 64

// label is a mode's name as names of files and namespaces can have it. Two long
// names that begin alike are told apart by the mode's place in the plan.
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

// mostPairs is how many pairs of endpoints the run's workloads need.
func (r *run) mostPairs() int {
	most := 1
	for _, w := range r.schedule.Plan.Workloads {
		most = max(most, pairsOf(w))
	}
	return most
}

// start starts those agents of the first n pairs that are not there.
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
				_ = (*a.at).Close() // it is gone; this only lets go of its pipes
			}
			*a.at = c
		}
	}
	return nil
}

// stopAgents ends all agents, side by side, so that the next attempt starts with
// fresh ones.
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

// teardownWait bounds the end of a run. It has a context of its own: an
// interrupted run is taken down like any other. Engines take a second or two each.
const teardownWait = time.Minute

// teardown ends the agents and closes the paths, all modes side by side: each takes
// a moment, and there are many. All agents end first, so that no mode's path is
// closed while another's are still about.
func (r *run) teardown() error {
	return errors.Join(r.forEachMode((*modeUnderTest).stopAgents), r.forEachMode((*modeUnderTest).takeDown))
}

// forEachMode does something to all modes side by side.
func (r *run) forEachMode(do func(*modeUnderTest) error) error {
	errs := make([]error, len(r.tested))
	var wg sync.WaitGroup
	for i, s := range r.tested {
		wg.Go(func() { errs[i] = do(s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// recreateDue makes those modes anew whose turn it is before a block: sandboxes, devices,
// addresses and agents. What such a set-up happens to come out like, as the hash of
// a connection or the place of a process, is then drawn again, and its scatter is
// seen instead of being taken for the mode's.
func (r *run) recreateDue(ctx context.Context, block int) error {
	began := time.Now()
	var made []string
	for _, s := range r.tested {
		if s.status != result.ModeMeasured || !r.cfg.Study.Renew.Due(block, s.took) {
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

// recreate takes a mode down and makes it again, twice if need be. One that cannot be
// made again is failed; only an interruption is an error.
func (r *run) recreate(ctx context.Context, s *modeUnderTest) error {
	err := s.takeDown()
	if err != nil {
		// What is left of it would be in the way, and the run's end tries again.
		r.settleMode(s, result.ModeFailed, fmt.Sprintf("could not be taken down to be made anew: %v", err))
		return nil
	}
	for range attempts {
		if err = r.setUp(ctx, s); err == nil {
			s.made++
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
	r.settleMode(s, result.ModeFailed, fmt.Sprintf("could not be made anew: %v", err))
	return nil
}

// takeDown ends a mode's agents and closes its path. It has a context of its own:
// half a path is no state to be interrupted in. After an error it may be called
// again.
func (s *modeUnderTest) takeDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), teardownWait)
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
