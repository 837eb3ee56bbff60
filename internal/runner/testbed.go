package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/analysis"
	"tare/internal/driver"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/timelimit"
	"tare/internal/warning"
)

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

// mostPairs is the number of pairs of endpoints that the run's workloads need.
func (r *testbed) mostPairs() int {
	most := 1
	for _, w := range r.schedule.Plan.Workloads {
		most = max(most, w.Endpoints())
	}
	return most
}

// pairsOf is the number of pairs of endpoints that the workloads need which a mode carries.
func (r *testbed) pairsOf(s *modeUnderTest) int { return r.mostOf(s, study.Workload.Endpoints) }

// mostOf is the most that one of the workloads needs which a mode carries, at least 1.
func (r *testbed) mostOf(s *modeUnderTest, needs func(study.Workload) int) int {
	most := 1
	for _, w := range r.schedule.Plan.Workloads {
		if s.whyNot(w) == "" {
			most = max(most, needs(w))
		}
	}
	return most
}

// eventsOf are the events of the workloads that a mode carries.
func (r *testbed) eventsOf(s *modeUnderTest) (names []string) {
	for _, w := range r.schedule.Plan.Workloads {
		if w.Event != "" && !slices.Contains(names, w.Event) && s.whyNot(w) == "" {
			names = append(names, w.Event)
		}
	}
	return names
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
