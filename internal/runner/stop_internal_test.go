package runner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// adaptive is a run that stops on width: after 2 blocks at the earliest, with one more, at most 6.
func adaptive(width, margin float64) *scripted {
	s := scriptOf("host", "netns/macvlan")
	s.study.Blocks, s.study.Margin, s.study.MaxTime = 6, margin, quantity.Duration(time.Hour)
	s.study.Stop = &study.Stop{MinBlocks: 2, Width: width, ExtraBlocks: 1}
	return s
}

// Ratios that scatter by about 0.1 % are narrow enough for the first, and never for the second.
func settling() *scripted { return adaptive(0.05, 0.1) }
func endless() *scripted  { return adaptive(1e-12, 1e-12) }

// Method 1.9: every ratio settled, then the extra blocks, then the end; each mode in
// each block.
func TestStopsSettled(t *testing.T) {
	s := settling()
	must.Do(t, s.runs(t))
	if got := s.run.Stopping; got == nil || got.Reason != result.StopSettled || got.Blocks != 3 || got.SettledAt != 2 || got.MinBlocks != 3 || got.MostBlocks != 6 || len(got.Unsettled) != 0 {
		t.Errorf("stopping %+v", got)
	}
	if s.run.Trials.OK != 6 || s.trials[5].Block != 3 || s.run.Status != result.RunComplete {
		t.Errorf("trials %v, status %s", s.told(), s.run.Status)
	}
	if d := of[live.Decision](s); len(d) != 1 || !strings.Contains(d[0].Text, "after block 2") {
		t.Errorf("told %q", d)
	}
	p := of[live.Provisional](s)
	must.Require(t, len(p) == 1 && p[0].Blocks == 2 && len(p[0].Cells) != 0, "provisional %+v", p)
	for _, c := range p[0].Cells {
		must.True(t, c.Verdict == "" && c.P == nil && c.CI == nil && c.RatioCI == nil, "a provisional cell has an interval or gives a verdict away: %+v", c)
	}
}

func TestStopsAtCap(t *testing.T) {
	s := endless()
	s.study.Blocks = 3
	must.Do(t, s.runs(t))
	got := s.run.Stopping
	if got == nil || got.Reason != result.StopCap || got.Blocks != 3 || len(s.trials) != 6 {
		t.Fatalf("stopping %+v, trials %v", got, s.told())
	}
	if u := got.Unsettled; len(u) != 1 || u[0].Mode != "netns/macvlan" || u[0].Metric != "transaction_rate" || u[0].Width == nil {
		t.Errorf("unsettled %+v", u)
	}
}

// The time limit holds for a run that would go on. What takes the time is the trials, or a listener:
// after block 2 the next one of 2 s would end 0.5 s late, or 2.5 s late.
func TestStopsAtTime(t *testing.T) {
	for limit, slow := range map[time.Duration]time.Duration{5500 * time.Millisecond: 0, 9 * time.Second: 2750 * time.Millisecond} {
		s := endless()
		s.study.MaxTime = quantity.Duration(limit)
		s.on = func(e live.Event) {
			if e, ok := e.(live.TrialEnded); ok && e.Trial.Block == 2 {
				time.Sleep(slow)
			}
		}
		must.Do(t, s.runs(t))
		if got := s.run.Stopping; got == nil || got.Reason != result.StopTime || got.Blocks != 2 || len(s.trials) != 4 || got.SettledAt != 0 || s.run.Finished.Sub(s.run.Started) > limit+slow {
			t.Errorf("limit %s: stopping %+v, trials %v", limit, got, s.told())
		}
		must.ContainFor(t, fmt.Sprintf("limit %s: warned", limit), s.warned("max_time"), "stopped after block 2 of 6")
	}
}

func TestFixedBlocks(t *testing.T) {
	s := scriptOf("host")
	must.Do(t, s.runs(t))
	if got := s.run.Stopping; got == nil || got.Reason != result.StopFixed || got.Blocks != 2 || got.MinBlocks != 2 || got.Width != 0 {
		t.Errorf("stopping %+v", got)
	}
}

// An interrupted run, resumed, stops where it would have stopped. The trial during which it was
// interrupted is not recorded.
func TestResumedStopsSettled(t *testing.T) {
	s := settling()
	s.give = func(*trialRun) {
		if len(of[live.TrialEnded](s)) == 3 {
			s.interrupt()
		}
	}
	if err := s.runs(t); err != nil || s.run.Status != result.RunInterrupted || s.run.Trials.OK != 3 {
		t.Fatalf("%v, status %s, trials %v", err, s.run.Status, s.told())
	}
	if got := s.run.Stopping; got == nil || got.Reason != result.StopInterrupted || got.Blocks != 1 {
		t.Errorf("stopping of the first part: %+v", got)
	}
	again := settling()
	again.earlier = s.trials
	must.Do(t, again.runs(t))
	if got := again.run.Stopping; got == nil || got.Reason != result.StopSettled || got.Blocks != 3 || got.SettledAt != 2 {
		t.Errorf("stopping %+v", got)
	}
	if again.run.Trials.OK != 6 || len(again.trials) != 3 || again.trials[0].Block != 2 {
		t.Errorf("trials %+v, after the interruption %v", again.run.Trials, again.told())
	}
}

// A run that is told to end when its last trial has ended, while its modes are removed, is complete; and one that had failed by then has failed.
func TestInterruptedAfterTheLastTrial(t *testing.T) {
	s := scriptOf("host")
	s.closing = func() { s.interrupt() }
	must.Do(t, s.runs(t))
	must.True(t, s.run.Status == result.RunComplete && s.run.Trials.OK == 2 && s.run.Stopping.Reason == result.StopFixed, "status %s, %v, stopping %+v", s.run.Status, s.told(), s.run.Stopping)

	s = scriptOf("elsewhere")
	s.on = func(e live.Event) {
		if _, ends := e.(live.ModeSettled); ends {
			s.interrupt()
		}
	}
	must.True(t, s.runs(t) == nil && s.run.Status == result.RunInterrupted, "status %s", s.run.Status)
}

// Modes that are made again for every second block have half as many set-ups as blocks, and these are what the run waits for.
func TestStopWaitsForSetups(t *testing.T) {
	blocks := func(every int) int {
		s := settling()
		s.study.Recreate, s.study.Stop.MinBlocks = study.RecreateEvery(every), 3
		must.Do(t, s.runs(t))
		must.Equal(t, result.StopSettled, s.run.Stopping.Reason)
		return s.run.Stopping.SettledAt
	}
	must.Equal(t, []int{3, 5}, []int{blocks(1), blocks(2)})
}
