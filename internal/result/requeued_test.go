package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRequeued: of a set that was run once more, only the second outcome counts, for
// every mode. What was good in the first is not paired with what came an hour later.
func TestRequeued(t *testing.T) {
	trial := func(block int, mode string, s TrialStatus, again bool, rate float64) Trial {
		tr := Trial{Block: block, Mode: mode, Workload: "tcp_rr", Status: s, Requeued: again}
		if s == TrialOK {
			tr.Metrics = map[string]float64{"transaction_rate": rate}
		}
		return tr
	}
	modes := []Mode{{ID: "host", Status: ModeMeasured}, {ID: "bridge", Status: ModeMeasured, Baseline: "host"}}
	trials := []Trial{
		trial(1, "host", TrialOK, false, 100), trial(1, "bridge", TrialOK, false, 50),
		trial(2, "host", TrialOK, false, 1), trial(2, "bridge", TrialInvalid, false, 0),
		trial(3, "host", TrialOK, false, 3), trial(3, "bridge", TrialInvalid, false, 0),
		trial(4, "host", TrialInvalid, false, 0), trial(4, "bridge", TrialOK, false, 7),
		// Block 2 came out well, in 3 the same mode was ruled out again, in 4 the other.
		trial(2, "bridge", TrialOK, true, 50), trial(2, "host", TrialOK, true, 100),
		trial(3, "bridge", TrialInvalid, true, 0), trial(3, "host", TrialOK, true, 100),
		trial(4, "bridge", TrialInvalid, true, 0), trial(4, "host", TrialOK, true, 100),
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
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if r := cells[1].Ratio; r == nil || *r < 0.499999 || *r > 0.500001 {
		t.Errorf("ratio %v, want 0.5: a pair of two sessions is among those compared", r)
	}
	if d := cmp.Diff(Tally{OK: 9, Invalid: 5}, Count(trials)); d != "" {
		t.Errorf("tally (-want +got):\n%s", d)
	}
}
