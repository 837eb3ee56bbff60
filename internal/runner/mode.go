package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/study"
	"tare/internal/study/quantity"
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

// minSetupTimeout is the minimum set-up timeout of a mode. See setupTimeout for modes
// that take longer.
const minSetupTimeout = 20 * time.Second

// setupTimeFactor is the factor between the estimated set-up time of a mode and its
// timeout, so that a small, busy machine does not time out.
const setupTimeFactor = 20

// pairSetupTimeout is added for each pair: two containers take half a second to start, and
// longer the more there are. settingTimeFactor is the factor of what settings add, which is as long.
const (
	pairSetupTimeout  = 2 * time.Second
	settingTimeFactor = 4
)

// setupTimeout is the set-up timeout of a variant of a mode with a number of pairs. It is longer on an
// emulated CPU.
func setupTimeout(m driver.Mode, with map[string]string, pairs int) time.Duration {
	return timelimit.Scaled(minSetupTimeout + setupTimeFactor*m.SetupTime + settingTimeFactor*m.SettingsTake(with) + time.Duration(pairs)*pairSetupTimeout)
}

// setUp sets up the path and the agents of one mode. clock is nil unless the set-up is measured.
func (r *testbed) setUp(ctx context.Context, s *modeUnderTest, clock *driver.SetupClock) error {
	began := time.Now()
	wait := setupTimeout(s.mode, s.study.With, r.pairsOf(s))
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
	s.path = path
	if err := s.sameFacts(path.Facts); err != nil {
		return err
	}
	s.facts = path.Facts
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
	if err := s.start(ctx, r.cfg.RunID, len(s.agents), r.mostOf(s, study.Workload.Servers)); err != nil {
		return err
	}
	s.setupTime = time.Since(began)
	return nil
}

// sameFacts returns an error if the mode has become another one since its last set-up in this session: its trials
// share cells.
func (s *modeUnderTest) sameFacts(now []result.Fact) error {
	before := result.FactsHash(s.facts)
	if before == "" || before == result.FactsHash(now) {
		return nil
	}
	var what []string
	for _, c := range result.FactCauses(s.mode.ID, s.facts, now) {
		what = append(what, fmt.Sprintf("%s was %s and is %s", c.Key, cmp.Or(c.Then, "not set"), cmp.Or(c.Now, "not set")))
	}
	return fmt.Errorf("the mode was changed during the run: %s; start a new run", strings.Join(what, "; "))
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
		Pairs: r.pairsOf(s), Limits: s.study.Limits, Options: s.study.Options, MTU: s.study.MTU, With: s.study.With,
		Engine: s.study.Engine, Events: r.eventsOf(s),
	}
}

// underlay is the link between the mode's hosts, zero if it is unknown.
func (s *modeUnderTest) underlay() study.Lab {
	if s.path == nil || s.path.Underlay == nil {
		return study.Lab{}
	}
	return study.Lab{MTU: s.path.Underlay.MTU, Rate: quantity.Rate(s.path.Underlay.Rate)}
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

// start starts the agents of the first clients and servers of the path that are not running.
func (s *modeUnderTest) start(ctx context.Context, run string, clients, servers int) error {
	for i, at := range s.agents {
		pair := s.path.Pairs[i]
		for _, a := range []struct {
			end    driver.Endpoint
			at     **agent.Client
			needed bool
		}{{pair.Client, &at.client, i < clients}, {pair.Server, &at.server, i < servers}} {
			if !a.needed || *a.at != nil && (*a.at).Err() == nil {
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
