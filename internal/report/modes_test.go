package report_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"tare/internal/analysis"
	"tare/internal/analysis/verdict"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// manyModes are the numbers of so many modes, two values each, evaluated.
func manyModes(n int) report.Input {
	in := verdict.Input{Workloads: []string{"w"}, Rule: verdict.Rule{Margin: 0.05}}
	for m := range n {
		mode := result.Mode{ID: fmt.Sprint("m", m), Title: "m", Status: result.ModeMeasured}
		if m > 0 {
			mode.Baseline = "m0"
		}
		in.Modes = append(in.Modes, mode)
		for block := 1; block <= 2; block++ {
			in.Trials = append(in.Trials, result.Trial{Seq: len(in.Trials) + 1, Block: block, Mode: mode.ID, Workload: "w", Status: result.TrialOK,
				Metrics: map[string]float64{"goodput": 1e9 + float64((m*37+block*61)%997)*1e5}})
		}
	}
	run := analysis.EvaluateNumbers(result.Run{Schema: result.Schema, Status: result.RunComplete, Source: "x"}, in)
	return report.Input{Run: run, Trials: in.Trials, Title: "x"}
}

// printed evaluates many modes and prints them for a terminal, in all its forms.
func printed(t testing.TB, n int) {
	t.Helper()
	p := report.Prepare(manyModes(n))
	for _, write := range []func(io.Writer, report.TextOptions) error{p.Overview, p.Table, p.Text} {
		must.Do(t, write(io.Discard, report.TextOptions{Width: 100}))
	}
}

// The work for a terminal grows with the number of modes, not with its square.
func TestModesGrowLinearly(t *testing.T) {
	allocated := func(n int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		printed(t, n)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	allocated(10) // what is made once
	few, many := allocated(500), allocated(1000)
	must.True(t, many <= 2.3*few, "%.0f bytes for 500 modes, %.0f for 1000: %.1f times", few, many, many/few)
}

// Evaluating and printing 3000 modes, the goal is 1 s.
func BenchmarkModes3000(b *testing.B) {
	for b.Loop() {
		printed(b, 3000)
	}
}
