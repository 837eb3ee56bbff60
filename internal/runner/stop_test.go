//go:build linux

package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
)

// adaptive makes the run of a test stop on width: after 2 blocks at the earliest,
// with one more, at most 6. How wide is wide enough decides when.
func adaptive(width, margin float64) func(*study.Study) {
	return func(s *study.Study) {
		s.Blocks, s.Margin = 6, margin
		s.MaxTime = study.Duration(time.Hour)
		s.Stop = &study.Stop{MinBlocks: 2, Width: width, ExtraBlocks: 1}
		s.Workloads[0].Duration = study.Duration(100 * time.Millisecond)
	}
}

// Any width is narrow enough, or none is: so it is not the machine that decides.
var (
	always = adaptive(1e100, 0.1) // whatever a starved machine makes of two blocks
	never  = adaptive(1e-12, 1e-12)
)

func lastBlock(trials []result.Trial) int {
	last := 0
	for _, t := range trials {
		last = max(last, t.Block)
	}
	return last
}

// Method 1.9: every ratio settled, then the extra blocks, then the end; each mode in
// each block.
func TestStopsSettled(t *testing.T) {
	var provisional []live.Provisional
	var told []string
	run, trials, err := weigh(t, netns.Driver{}, []string{"host", "netns/macvlan"}, always, func(e live.Event) {
		switch e := e.(type) {
		case live.Provisional:
			provisional = append(provisional, e)
		case live.Decision:
			told = append(told, e.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s := run.Stopping
	if s == nil || s.Reason != result.StopSettled || s.Blocks != 3 || s.SettledAt != 2 || s.MinBlocks != 3 || s.MostBlocks != 6 || len(s.Unsettled) != 0 {
		t.Errorf("stopping %+v", s)
	}
	if run.Trials.OK != 6 || lastBlock(trials) != 3 || run.Status != result.RunComplete {
		t.Errorf("%d trials to block %d, status %s", len(trials), lastBlock(trials), run.Status)
	}
	if len(told) != 1 || !strings.Contains(told[0], "after block 2") {
		t.Errorf("told %q", told)
	}
	if len(provisional) != 1 || provisional[0].Blocks != 2 {
		t.Fatalf("provisional %+v", provisional)
	}
	for _, c := range provisional[0].Cells {
		if c.Verdict != "" || c.P != nil {
			t.Errorf("a provisional cell gives a verdict away: %+v", c)
		}
	}
}

func TestStopsAtCap(t *testing.T) {
	run, trials, err := weigh(t, netns.Driver{}, []string{"host", "netns/macvlan"}, func(s *study.Study) {
		never(s)
		s.Blocks = 3
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := run.Stopping
	if s == nil || s.Reason != result.StopCap || s.Blocks != 3 || lastBlock(trials) != 3 {
		t.Fatalf("stopping %+v after block %d", s, lastBlock(trials))
	}
	if len(s.Unsettled) != 1 || s.Unsettled[0].Mode != "netns/macvlan" || s.Unsettled[0].Metric != "transaction_rate" || s.Unsettled[0].Width == nil {
		t.Errorf("unsettled %+v", s.Unsettled)
	}
}

// The time limit holds for a run that would go on: a slow listener takes the time.
func TestStopsAtTime(t *testing.T) {
	limit := 5 * time.Second
	run, trials, err := weigh(t, netns.Driver{}, []string{"host", "netns/macvlan"}, func(s *study.Study) {
		never(s)
		s.MaxTime = study.Duration(limit)
	}, func(e live.Event) {
		if e, ok := e.(live.TrialEnded); ok && e.Trial.Block == 2 {
			time.Sleep(limit / 2)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := run.Stopping; s == nil || s.Reason != result.StopTime || s.Blocks != lastBlock(trials) || s.Blocks > 2 || s.SettledAt != 0 {
		t.Errorf("stopping %+v after block %d", s, lastBlock(trials))
	}
	if !slices.ContainsFunc(run.Warnings, func(w result.Warning) bool { return w.Code == "max_time" }) {
		t.Errorf("no warning of the time limit: %+v", run.Warnings)
	}
}

func TestFixedBlocks(t *testing.T) {
	run, _, err := weigh(t, netns.Driver{}, []string{"host"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := run.Stopping; s == nil || s.Reason != result.StopFixed || s.Blocks != 2 || s.MinBlocks != 2 || s.Width != 0 {
		t.Errorf("stopping %+v", s)
	}
}

// An interrupted run, resumed, stops where it would have stopped.
func TestResumedStopsSettled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	modes := []string{"host", "netns/macvlan"}
	run, trials, err := weighUntil(ctx, t, nil, netns.Driver{}, modes, always, func(e live.Event) {
		if e, ok := e.(live.TrialEnded); ok && e.Trial.Block == 2 && e.Trial.Status == result.TrialOK {
			cancel()
		}
	})
	if err != nil || run.Status != result.RunInterrupted || lastBlock(trials) != 2 || run.Trials.OK != 3 {
		t.Fatalf("%v, status %s, %d trials to block %d", err, run.Status, len(trials), lastBlock(trials))
	}
	if run.Stopping == nil || run.Stopping.Reason != result.StopInterrupted || run.Stopping.Blocks != 1 {
		t.Errorf("stopping of the first part: %+v", run.Stopping)
	}
	run, more, err := weighAfter(t, trials, netns.Driver{}, modes, always, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := run.Stopping; s == nil || s.Reason != result.StopSettled || s.Blocks != 3 || s.SettledAt != 2 {
		t.Errorf("stopping %+v", s)
	}
	if ok := result.Count(more).OK; run.Trials.OK != 6 || ok != 3 {
		t.Errorf("trials %+v, %d of them after the interruption: %+v", run.Trials, ok, more)
	}
}
