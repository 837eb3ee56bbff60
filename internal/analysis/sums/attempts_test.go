package sums

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Connections of failed trials count, those of paths that were not proven and of trials beside the study do not. The
// set-ups are the replicates.
func TestSumAttempts(t *testing.T) {
	trial := func(setup int, a result.Attempts, change func(*result.Trial)) result.Trial {
		tr := result.Trial{Block: 1, Mode: "m", Workload: "w", Setup: setup, Status: result.TrialOK, Attempts: &a}
		if change != nil {
			change(&tr)
		}
		return tr
	}
	trials := []result.Trial{
		trial(1, result.Attempts{Tried: 1000, Refused: 2}, nil),
		trial(1, result.Attempts{Tried: 1000, Reset: 1, Late: 4}, nil),
		trial(2, result.Attempts{Tried: 500, TimedOut: 7}, func(tr *result.Trial) { tr.Status = result.TrialFailed }),
		trial(2, result.Attempts{Tried: 99, TimedOut: 99}, func(tr *result.Trial) { tr.Status, tr.Void = result.TrialFailed, true }),
		trial(3, result.Attempts{Tried: 99, TimedOut: 99}, func(tr *result.Trial) { tr.Pilot = true }),
		trial(3, result.Attempts{Tried: 5, TimedOut: 6}, nil), // impossible
		{Block: 1, Mode: "m", Workload: "w", Status: result.TrialOK},
	}
	modes := []result.Mode{{ID: "m"}, {ID: "n"}}
	got := Attempts(modes, []string{"w", "v"}, trials)
	must.Require(t, len(got) == 1, "%+v", got)
	s := got[0]
	must.Equal(t, []any{"m", "w", 3, 2, result.Attempts{Tried: 2500, TimedOut: 7, Refused: 2, Reset: 1, Late: 4}, 0.004}, []any{s.Mode, s.Workload, s.Trials, s.Setups, s.Attempts, s.FailedShare.Value})
	must.True(t, s.FailedShare.Low < 0.004 && s.FailedShare.High > 0.02, "most failures are of one set-up of two: %+v", s.FailedShare)
	// Without set-ups on record, blocks are the replicates.
	for i := range trials {
		trials[i].Setup, trials[i].Block = 0, i
	}
	must.Equal(t, 3, Attempts(modes, []string{"w"}, trials)[0].Setups)
}
