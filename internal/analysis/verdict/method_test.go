package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

// session makes the trials of some modes that all do the same: log-normal noise of
// their own of 3 %, and 6 % that the trials of a block share.
func session(rng *rand.Rand, modes []result.Mode, n int) []result.Trial {
	var out []result.Trial
	for b := 1; b <= n; b++ {
		shared := 0.06 * rng.NormFloat64()
		for _, m := range modes {
			out = append(out, blocks.Row(b, m.ID, "goodput", 1e9*math.Exp(shared+0.03*rng.NormFloat64())))
		}
	}
	return out
}

func Alike(n int) []result.Mode {
	modes := []result.Mode{{ID: "host", Status: result.ModeMeasured}}
	for i := range n {
		modes = append(modes, result.Mode{ID: fmt.Sprintf("mode%d", i), Status: result.ModeMeasured, Baseline: "host"})
	}
	return modes
}

// Method 5, item 2: identical modes, judged as in a run. One comparison has a false verdict
// in at most 5 % of sessions, and so has any of five, by Holm's correction. With 4000
// sessions, 3 sigma are 1 %.
func TestAAThroughCells(t *testing.T) {
	const sessions = 4000
	for _, n := range []int{1, 5} {
		rng := rand.New(rand.NewPCG(5, uint64(n)))
		modes := Alike(n)
		any, told := 0, 0
		for range sessions {
			cells, _ := Cells(modes, []string{"stream"}, session(rng, modes, 6), Rule{Margin: 0.05})
			before := told
			for _, c := range cells {
				if c.Verdict == result.Worse || c.Verdict == result.Better || c.Verdict == result.Small {
					told++
				}
			}
			if told > before {
				any++
			}
		}
		rate := float64(any) / sessions
		must.True(t, rate <= 0.06 && (n != 1 || rate >= 0.04) && rate >= 0.015, "%d modes: told apart in %.1f %% of the sessions", n, 100*rate)
		if rate := float64(told) / float64(n*sessions); rate > 0.06 {
			t.Errorf("%d modes: %.1f %% of the comparisons", n, 100*rate)
		}
	}
}

// Method 5, item 14: none of 21 trials with loss is no proof of none. The share of
// lossy trials is then below 13 %, and for 1 of 5 below 66 %: 1 - .05^(1/21), and
// the p of which P(X <= 1 | 5, p) = .05.
func TestLossyTrials(t *testing.T) {
	losses := func(mode string, n, lossy int) []result.Trial {
		values := make([]float64, n)
		for i := range lossy {
			values[i] = 0.01
		}
		return blocks.Rows(mode, "loss_ratio", values...)
	}
	cells, _ := Cells(blocks.HostAnd(), []string{"stream"}, blocks.Join(losses("host", 21, 0), losses("veth", 5, 1)), Rule{Margin: 0.05})
	for i, want := range []struct {
		lossy, trials int
		upper         float64
	}{{0, 21, 0.132946}, {1, 5, 0.657408}} {
		c := cells[i]
		must.True(t, c.Lossy != nil && c.Lossy.Lossy == want.lossy && c.Lossy.Trials == want.trials && math.Abs(c.Lossy.Upper-want.upper) <= 1e-6,
			"%s: %+v, want %+v", c.Mode, c.Lossy, want)
	}
	must.True(t, cells[0].CI == nil && *cells[0].Value == 0, "no loss seen has the interval %v", cells[0].CI)
	other, _ := Cells(blocks.HostAnd(), []string{"stream"}, blocks.Rows("host", "goodput", 1, 2), Rule{})
	must.True(t, other[0].Lossy == nil, "goodput counts lossy trials")
}

// Method 5, item 18: a session that broke off after block 3 of a second mode, and a
// mode that failed in one block. A block without one of two is left out of that pair
// alone, and each pair says how many it has.
func TestInterruptedSession(t *testing.T) {
	modes := append(Alike(2), result.Mode{ID: "late", Status: result.ModeMeasured, Baseline: "host"})
	trials := blocks.Join(
		blocks.Rows("host", "goodput", 100, 200, 300, 400, 500),
		blocks.Rows("mode0", "goodput", 80, 161, 240, 320.5, 400),
		blocks.Rows("mode1", "goodput", 90, 181, 269), // then the session broke off
		[]result.Trial{blocks.Row(1, "late", "goodput", 70), blocks.Row(3, "late", "goodput", 211), blocks.Row(4, "late", "goodput", 279), blocks.Row(5, "late", "goodput", 350)},
	)
	failed := blocks.Row(2, "late", "goodput", 1)
	failed.Status = result.TrialFailed
	cells, _ := Cells(modes, []string{"stream"}, append(trials, failed), Rule{Margin: 0.05})
	for i, want := range []struct {
		n     int
		ratio float64
	}{{5, 0}, {5, 0.8}, {3, 0.9}, {4, 0.7}} {
		c := cells[i]
		must.True(t, c.N == want.n && (i <= 0 || math.Abs(*c.Ratio-want.ratio) <= 0.003 && c.Verdict == result.Worse),
			"%s: %d pairs, ratio %v, %s", c.Mode, c.N, c.Ratio, c.Verdict)
	}
	// The whole of it, without the blocks that are not whole.
	var kept []result.Trial
	for _, tr := range trials {
		if tr.Block == 1 || tr.Block == 3 {
			kept = append(kept, tr)
		}
	}
	whole, _ := Cells(modes, []string{"stream"}, kept, Rule{Margin: 0.05})
	must.True(t, whole[1].N == 2 && whole[3].N == 2, "%+v", whole)
}

// many are n trials in so many cells: 10 modes, and workloads.
func many(n, cells int) Input {
	rng := rand.New(rand.NewPCG(1, 1))
	in := Input{Modes: Alike(9), Rule: Rule{Margin: 0.05}}
	for w := range cells / len(in.Modes) {
		in.Workloads = append(in.Workloads, fmt.Sprintf("workload%d", w))
	}
	in.Trials = make([]result.Trial, 0, n)
	for b := 1; len(in.Trials) < n; b++ {
		for _, w := range in.Workloads {
			for _, m := range in.Modes {
				in.Trials = append(in.Trials, result.Trial{Block: b, Mode: m.ID, Workload: w, Status: result.TrialOK,
					Metrics: map[string]float64{"goodput": 1e9 * math.Exp(0.03*rng.NormFloat64())}})
			}
		}
	}
	return in
}

// Judging costs memory in proportion to the trials, and not to their square: no more
// than 250 bytes for each, with 100 000 of them in 100 cells.
func TestJudgingManyTrials(t *testing.T) {
	const n = 100_000
	in := many(n, 100)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cells, warnings := Judge(in)
	runtime.ReadMemStats(&after)
	got := after.TotalAlloc - before.TotalAlloc
	must.True(t, got <= 250*n, "%d bytes were allocated, %d a trial", got, got/n)
	must.True(t, len(cells) == 100 && cells[0].N == 1000 && len(warnings) == 0, "%d cells, the first of %d trials, %d warnings", len(cells), cells[0].N, len(warnings))
}

func BenchmarkJudge(b *testing.B) {
	in := many(100_000, 100)
	b.ReportAllocs()
	for b.Loop() {
		Judge(in)
	}
}
