package method

import (
	"testing"

	"tare/internal/result"
)

// A block counts where mode and host have valid values of the workload, and the last one of a repeated trial does.
func TestOfHost(t *testing.T) {
	of := func(block int, mode, workload string, v float64, s result.TrialStatus) result.Trial {
		return result.Trial{Block: block, Mode: mode, Workload: workload, Status: s, Metrics: map[string]float64{"goodput": v}}
	}
	ok := result.TrialOK
	got := ofHost([]result.Trial{
		of(1, "host", "w", 10, ok), of(1, "m", "w", 5, ok), of(1, "m", "other", 9, ok),
		of(2, "host", "w", 10, ok), of(2, "m", "w", 5, result.TrialFailed),
		of(3, "m", "w", 5, ok), of(4, "host", "w", 10, ok), of(4, "m", "w", 4, result.TrialInvalid), of(4, "m", "w", 6, ok), of(5, "host", "w", 0, ok), of(5, "m", "w", 1, ok),
	}, "m", "w", "goodput")
	if len(got) != 2 || got[1] != 0.5 || got[4] != 0.6 {
		t.Errorf("%v", got)
	}
}
