package verdict

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// TestRequeued: of a set that was run once more, only the second outcome counts, for
// every mode. What was good in the first is not paired with what came an hour later.
func TestRequeued(t *testing.T) {
	trial := func(block int, mode string, s result.TrialStatus, again bool, rate float64) result.Trial {
		tr := result.Trial{Block: block, Mode: mode, Workload: "tcp_rr", Status: s, Requeued: again}
		if s == result.TrialOK {
			tr.Metrics = map[string]float64{"transaction_rate": rate}
		}
		return tr
	}
	modes := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "bridge", Status: result.ModeMeasured, Baseline: "host"}}
	trials := []result.Trial{
		trial(1, "host", result.TrialOK, false, 100), trial(1, "bridge", result.TrialOK, false, 50),
		trial(2, "host", result.TrialOK, false, 1), trial(2, "bridge", result.TrialInvalid, false, 0),
		trial(3, "host", result.TrialOK, false, 3), trial(3, "bridge", result.TrialInvalid, false, 0),
		trial(4, "host", result.TrialInvalid, false, 0), trial(4, "bridge", result.TrialOK, false, 7),
		// Block 2 came out well, in 3 the same mode was ruled out again, in 4 the other.
		trial(2, "bridge", result.TrialOK, true, 50), trial(2, "host", result.TrialOK, true, 100),
		trial(3, "bridge", result.TrialInvalid, true, 0), trial(3, "host", result.TrialOK, true, 100),
		trial(4, "bridge", result.TrialInvalid, true, 0), trial(4, "host", result.TrialOK, true, 100),
	}
	cells, _ := Cells(modes, []string{"tcp_rr"}, trials, Rule{Margin: 0.05})
	type cell struct {
		Mode  string
		N     int
		Value float64
	}
	var got []cell
	for _, c := range cells {
		got = append(got, cell{c.Mode, c.N, *c.Value})
	}
	want := []cell{{"host", 4, 100}, {"bridge", 2, 50}}
	must.Equal(t, want, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }))
	r := cells[1].Ratio
	must.True(t, r != nil && *r >= 0.499999 && *r <= 0.500001, "ratio %v, want 0.5: a pair of two sessions is among those compared", r)
	must.Equal(t, result.Tally{OK: 9, Invalid: 5}, result.Count(trials))
}
