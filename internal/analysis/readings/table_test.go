package readings

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Jumbled are trials of three modes and two workloads in which everything happens that
// decides which of them counts.
func Jumbled(rng *rand.Rand) (trials []result.Trial) {
	for range 60 {
		t := result.Trial{
			Block: rng.IntN(6), Mode: fmt.Sprint("m", rng.IntN(3)), Workload: fmt.Sprint("w", rng.IntN(2)), Requeued: rng.IntN(8) == 0,
			Status:  []result.TrialStatus{result.TrialOK, result.TrialOK, result.TrialOK, result.TrialInvalid, result.TrialFailed}[rng.IntN(5)],
			Metrics: map[string]float64{},
		}
		t.Pilot, t.Profiled = t.Block == 0, rng.IntN(10) == 0
		for _, name := range []string{"goodput", "rtt_p50", "retransmits"} {
			if rng.IntN(4) > 0 {
				t.Metrics[name] = []float64{math.NaN(), math.Inf(1), -2, 0, rng.Float64(), rng.Float64()}[rng.IntN(6)]
			}
		}
		if rng.IntN(6) == 0 {
			t.AtLeast = []string{"goodput"}
		}
		if rng.IntN(10) == 0 {
			t.Search, t.Metrics["throughput_0"] = &result.Search{}, 1
		}
		trials = append(trials, t)
	}
	return trials
}

// counting is what counts of the trials up to a block, by the definition of a cell: valid,
// not superseded, and of several of one block the last.
func counting(trials []result.Trial, mode, workload string, last int) (out []result.Trial) {
	trials = slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Block > last })
	old := result.Superseded(trials)
	for block := range last + 1 {
		i := len(trials) - 1
		for ; i >= 0; i-- {
			if t := &trials[i]; t.Block == block && t.Mode == mode && t.Workload == workload && t.Status == result.TrialOK && !t.Aside() && !old(t) {
				break
			}
		}
		if i >= 0 {
			out = append(out, trials[i])
		}
	}
	return out
}

// A table has the values of the trials that count, however it is made.
func TestTable(t *testing.T) {
	modes := []result.Mode{{ID: "m0", Status: result.ModeMeasured}, {ID: "m1", Status: result.ModeMeasured, Baseline: "m0"}, {ID: "m2", Status: result.ModeFailed}}
	workloads := []string{"w0", "w1"}
	for seed := range uint64(30) {
		trials := Jumbled(rand.New(rand.NewPCG(seed, 0)))
		var all Table
		for _, tr := range trials {
			all.Add(tr)
		}
		for last := range 6 {
			until := slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Block > last })
			for name, tab := range map[string]Columns{"added": all.Until(last).Of(modes, workloads), "tabulated": Tabulate(modes, workloads, until)} {
				checkTable(t, fmt.Sprintf("seed %d, %s, until block %d", seed, name, last), tab, trials, last)
			}
		}
	}
}

func checkTable(t *testing.T, what string, tab Columns, trials []result.Trial, last int) {
	t.Helper()
	for _, at := range []key{{"m0", "w0"}, {"m0", "w1"}, {"m1", "w0"}, {"m1", "w1"}, {"m2", "w0"}} {
		want := counting(trials, at.mode, at.workload, last)
		if at.mode == "m2" { // not measured
			want = nil
		}
		got := tab.Has(at.mode, at.workload)
		must.Require(t, got == (len(want) > 0), "%s: %v has trials: %v, want %d", what, at, got, len(want))
		for _, metric := range []string{"goodput", "rtt_p50", "retransmits"} {
			var values []Reading
			bad, bounded := 0, false
			for _, tr := range want {
				v, has := tr.Metrics[metric]
				bounded = bounded || tr.Limited(result.Metric{Name: metric})
				switch {
				case has && Usable(v):
					values = append(values, Reading{tr.Block, v, -tr.Block})
				case has:
					bad++
				}
			}
			got := tab.Values(at.mode, at.workload, metric)
			must.Require(t, slices.Equal(got, values), "%s: %s of %v is %v, want %v", what, metric, at, got, values)
			if c := tab[at]; c != nil {
				must.EqualFor(t, fmt.Sprintf("%s: bad values of %s of %v", what, metric, at), bad, c.bad(metric))
			}
			must.EqualFor(t, fmt.Sprintf("%s: lower bound of %s of %v", what, metric, at), bounded, tab.Limited(at.mode, at.workload, result.Metric{Name: metric}))
		}
	}
}
