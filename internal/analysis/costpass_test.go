package analysis

import (
	"slices"
	"testing"

	"tare/internal/analysis/changes"
	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// passOf is a run whose pass had a rate, in three blocks.
func passOf(rate float64) changes.RunTrials {
	t := changes.RunTrials{Run: result.Run{CostPass: &result.CostPass{Rate: rate}, Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "m", Status: result.ModeMeasured, Baseline: "host"}}}}
	for block := 1; block <= 3; block++ {
		for _, m := range t.Run.Modes {
			t.Trials = append(t.Trials, result.Trial{Block: block, Mode: m.ID, Workload: result.CostPassID, Status: result.TrialOK, Rate: rate,
				Metrics: map[string]float64{"goodput": rate * (1 + 0.001*float64(block))}})
		}
	}
	t.Run.Cells, _ = verdict.Cells(t.Run.Modes, []string{result.CostPassID}, t.Trials, verdict.Rule{Margin: 0.05})
	return t
}

// Two runs whose cost passes have different rates are compared by the ratios of the modes,
// not by the baseline's own values.
func TestAcrossPasses(t *testing.T) {
	modes := func(rate float64) []string {
		var out []string
		for _, c := range changes.Across(passOf(2e9), passOf(rate), nil, 0.05).Cells {
			if c.Metric == "goodput" {
				out = append(out, c.Mode)
			}
		}
		return out
	}
	got := modes(2e9)
	must.True(t, slices.Equal(got, []string{"host", "m"}), "at the same rate: %v", got)
	if got := modes(3e9); !slices.Equal(got, []string{"m"}) {
		t.Errorf("at another rate: %v", got)
	}
}
