package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// recreating is a run that recreates its modes before each of its later blocks.
func recreating() *scripted {
	s := scriptOf("host", "netns/macvlan")
	s.study.Blocks, s.study.Recreate = 3, study.RecreateEvery(1)
	return s
}

func TestRenews(t *testing.T) {
	s := recreating()
	if err := s.runs(t); err != nil || s.run.Trials.OK != 6 {
		t.Fatalf("%v, trials %+v", err, s.run.Trials)
	}
	must.EqualFor(t, fmt.Sprintf("made %v", s.made), []any{3, 3}, []any{s.made["host"], s.made["netns/macvlan"]})
	e := of[live.Recreated](s)
	must.True(t, len(e) == 2 && e[0].Block == 2 && len(e[0].Modes) == 2 && e[1].Block == 3, "events %+v", e)
	s = recreating()
	s.study.Recreate = study.RecreateOnce()
	if err := s.runs(t); err != nil || s.made["host"] != 1 {
		t.Errorf("not recreated: %v, made %v", err, s.made)
	}
}

// A mode that cannot be recreated is tried again, and then fails with the reason. The
// others continue, and its earlier trials stay on disk.
func TestRenewalFails(t *testing.T) {
	for _, fails := range []int{1, 2} {
		s := recreating()
		s.provide = func(mode string, nth int) error {
			if mode == "netns/macvlan" && nth > 1 && nth <= 1+fails {
				return errors.New("no more devices")
			}
			return nil
		}
		if err := s.runs(t); errors.Is(err, ErrNothing) != (fails == 2) {
			t.Errorf("the run ended with %v", err)
		}
		m := s.mode("netns/macvlan")
		must.True(t, fails != 1 || m.Status == result.ModeMeasured && s.run.Trials.OK == 6, "mode %+v, trials %+v", m, s.run.Trials)
		must.True(t, fails != 2 || m.Status == result.ModeFailed && strings.Contains(m.Reason, "recreate the mode: no more devices") && s.run.Trials.OK == 4,
			"mode %+v, trials %+v", m, s.run.Trials)
	}
}

// An interruption while a mode is being recreated leaves nothing behind and invalidates
// no trial.
func TestInterruptedRenewal(t *testing.T) {
	s := recreating()
	s.provide = func(mode string, nth int) error {
		if mode == "netns/macvlan" && nth == 2 {
			s.interrupt()
		}
		return nil
	}
	must.Do(t, s.runs(t))
	if s.run.Status != result.RunInterrupted || s.run.Trials.OK != 2 || s.mode("netns/macvlan").Status != result.ModeMeasured {
		t.Errorf("status %s, trials %+v, mode %+v", s.run.Status, s.run.Trials, s.mode("netns/macvlan"))
	}
}

// The control is a second copy of the baseline, set up separately and compared with it.
func TestControl(t *testing.T) {
	s := scriptOf("host")
	s.study.Control = true
	s.study.Modes = append(s.study.Modes, study.Mode{ID: study.ControlID, Mode: "host"})
	must.Do(t, s.runs(t))
	if m := s.mode(study.ControlID); !m.Control || m.Baseline != "host" || m.Mode != "host" || s.made["host"] != 1 || s.made[study.ControlID] != 1 {
		t.Errorf("mode %+v, made %v", m, s.made)
	}
	ratios := 0
	for _, c := range s.run.Cells {
		if c.Mode == study.ControlID && c.Metric == "transaction_rate" && c.Ratio != nil {
			ratios++
		}
	}
	must.Equal(t, 1, ratios)
}

// A run that was killed between two set-ups and resumed makes its modes again: the blocks before and after have set-ups of their
// own, which are the replicates of its intervals.
func TestResumedSetups(t *testing.T) {
	begin := func(earlier []result.Trial) *scripted {
		s := scriptOf("host", "netns/macvlan")
		s.study.Blocks, s.study.Recreate, s.earlier = 6, study.RecreateEvery(2), earlier
		must.Do(t, s.runs(t))
		return s
	}
	setups := func(trials []result.Trial) (out [7]int) { // by block
		for _, tr := range trials {
			if tr.Mode == "netns/macvlan" {
				out[tr.Block] = tr.Setup
			}
		}
		return out
	}
	whole := begin(nil)
	must.Equal(t, [7]int{0, 1, 1, 2, 2, 3, 3}, setups(whole.trials))
	killed := slices.DeleteFunc(slices.Clone(whole.trials), func(tr result.Trial) bool { return tr.Block > 3 })
	resumed := begin(killed)
	must.Equal(t, [7]int{0, 1, 1, 2, 3, 4, 4}, setups(append(killed, resumed.trials...)))
	for _, of := range []struct {
		s    *scripted
		want int
	}{{whole, 3}, {resumed, 4}} {
		at := slices.IndexFunc(of.s.run.Cells, func(c result.Cell) bool { return c.Mode == "netns/macvlan" && c.Metric == "transaction_rate" })
		if c := of.s.run.Cells[at]; c.N != 6 || c.Setups != of.want {
			t.Errorf("%d blocks in %d set-ups, want %d", c.N, c.Setups, of.want)
		}
	}
}

// A trial whose path has ended, such as with a proxy that was killed, fails for that reason, and the next attempt has another path.
func TestLostPathIsNamed(t *testing.T) {
	s := scriptOf("host", "netns/macvlan")
	ended := errors.New("the proxy in b has ended: signal: killed")
	killed := 0 // the set-up whose proxy was killed
	s.lost = func(mode string, nth int) error {
		if mode == "netns/macvlan" && nth == killed {
			return ended
		}
		return nil
	}
	s.give = func(tr *trialRun) {
		if tr.Mode == "netns/macvlan" && killed == 0 {
			killed = s.made[tr.Mode]
			tr.err = errors.New("connect: connection refused")
		}
	}
	must.Do(t, s.runs(t))
	i := slices.IndexFunc(s.trials, func(tr result.Trial) bool { return tr.Status == result.TrialFailed })
	must.Equal(t, "the proxy in b has ended: signal: killed (connect: connection refused)", s.trials[max(0, i)].Reason)
	must.Equal(t, []int{1, 2}, []int{s.made["host"], s.made["netns/macvlan"]})
	s.became(t, "netns/macvlan", result.ModeMeasured, "", result.Tally{OK: 4, Failed: 1})
}
