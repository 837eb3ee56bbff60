package section

import (
	"testing"

	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// Failed connections are shown by mode with their kinds and intervals; that none failed only if it says something.
func TestFailures(t *testing.T) {
	in := reports.Drawable(1)
	ids := []string{in.Run.Modes[0].ID, in.Run.Modes[1].ID, in.Run.Modes[2].ID}
	none := func(mode, workload string, n int64, high float64) result.AttemptSummary {
		return result.AttemptSummary{Mode: mode, Workload: workload, Setups: 7, Attempts: result.Attempts{Tried: n}, FailedShare: result.Share{High: high}, LateShare: result.Share{High: high}}
	}
	in.Run.Attempts = []result.AttemptSummary{
		none(ids[0], "tcp_crr", 120000, 0.000025), none(ids[1], "tcp_crr", 130000, 0.000023),
		{Mode: ids[2], Workload: "tcp_crr", Setups: 1, Attempts: result.Attempts{Tried: 12000, TimedOut: 1, Refused: 5, Late: 3},
			FailedShare: result.Share{Value: 0.0005, Low: 0.00018, High: 0.0011}, LateShare: result.Share{Value: 0.00025, Low: 0.00005, High: 0.00073}},
		none(ids[0], "tcp_rr", 8, 0.31),
	}
	must.Equal(t, []string{
		"tcp_crr, " + ids[2] + ": 6 of 12,000 connections failed, 0.050 % (0.018 to 0.11 %): 1 timed out, 5 refused; 3 late, 0.025 % (0.0050 to 0.073 %): a SYN or its answer was lost; all of one set-up, so the limits hold for it alone",
		"tcp_crr, " + ids[0] + ", " + ids[1] + ": none of 120,000 or more connections failed, at most 0.0025 %",
	}, failures(model.New(in)))
	// A path that was not proven shows nothing.
	in.Run.Modes[2].Status = result.ModeVoid
	must.Equal(t, 1, len(failures(model.New(in))))
}
