package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Two bands are claimed from 10 blocks on, and of the ratio to the baseline: a drift that
// all modes of a block share is none.
func TestTwoBands(t *testing.T) {
	three := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "veth", Status: result.ModeMeasured, Baseline: "host"}, {ID: "vxlan", Status: result.ModeMeasured, Baseline: "host"}}
	series := func(of float64, factors ...float64) []float64 {
		out := make([]float64, 12)
		if len(factors) == 0 {
			factors = []float64{1}
		}
		for i := range out {
			out[i] = of * (1 + 0.01*float64(i%3)) * factors[i%len(factors)]
		}
		return out
	}
	times := func(a, b []float64) []float64 {
		out := slices.Clone(a)
		for i := range out {
			out[i] *= b[i]
		}
		return out
	}
	step := []float64{1, 1, 1, 1, 1, 1, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5}
	for _, c := range []struct {
		name              string
		host, veth, vxlan []float64
		pairing           Pairing
		want              string // the cells in two bands
	}{
		{"none", series(10), series(8), series(6), PairBlocks, ""},
		{"4 blocks", series(10, 1, 1.5)[:4], series(8, 1.5, 1)[:4], series(6)[:4], PairBlocks, ""},
		{"9 blocks", series(10)[:9], series(8, 1, 1.5)[:9], series(6)[:9], PairBlocks, ""},
		{"10 blocks", series(10)[:10], series(8, 1, 1.5)[:10], series(6)[:10], PairBlocks, "veth 5 near 8.07, 5 near 12.1"},
		{"a step that all share", times(series(10), step), times(series(8), step), times(series(6), step), PairBlocks, ""},
		{"a mode that switches", series(10), series(8, 1, 1.5, 1.5), series(6), PairBlocks, "veth 4 near 8.08, 8 near 12.1"},
		{"a mode that switches on a machine that drifts", times(series(10), step), times(series(8, 1, 1.5, 1.5), step), times(series(6), step), PairBlocks, "veth 4 near 9.9, 8 near 14.8"},
		{"a baseline that switches", series(10, 1, 1.5), series(8), series(6), PairBlocks, "host 6 near 10.1, 6 near 15.1; veth 6 near 6.6, 6 near 9.9; vxlan 6 near 4.95, 6 near 7.42"},
		{"a baseline alone", series(10, 1, 1.5), nil, nil, PairBlocks, "host 6 near 10.1, 6 near 15.1"},
		{"without pairs", series(10), series(8, 1, 1.5), series(6), PairNone, "veth 6 near 8.08, 6 near 12.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			trials := join(rows("host", "goodput", c.host...), rows("veth", "goodput", c.veth...), rows("vxlan", "goodput", c.vxlan...))
			cells, warnings := Judge(Input{Modes: three, Workloads: []string{"stream"}, Trials: trials, Rule: Rule{Margin: 0.05, Pairing: c.pairing}})
			var got, warned []string
			for _, x := range cells {
				if b := x.Bands; b != nil {
					got = append(got, fmt.Sprintf("%s %d near %.3g, %d near %.3g", x.Mode, b.Low.N, b.Low.Value, b.High.N, b.High.Value))
				}
			}
			must.Equal(t, c.want, strings.Join(got, "; "))
			for _, w := range warnings {
				if w.Code == "two_bands" {
					warned = append(warned, w.Scope)
				}
			}
			must.EqualFor(t, fmt.Sprintf("warnings of %q", warned), len(got), len(warned))
		})
	}
}

// What never happened with either is the same, not a doubt; what happened with one has no
// ratio.
func TestNoneInEither(t *testing.T) {
	for _, c := range []struct {
		name       string
		metric     string
		host, veth []float64
		noisy      string
		want       result.Verdict
	}{
		{"none in either", "retransmits", []float64{0, 0, 0}, []float64{0, 0, 0}, "", result.Same},
		{"no loss in either", "loss_ratio", []float64{0, 0, 0}, []float64{0, 0, 0}, "", result.Same},
		{"some in one", "retransmits", []float64{0, 0, 0}, []float64{0, 1, 0}, "", result.CannotTell},
		{"one block", "retransmits", []float64{0}, []float64{0}, "", result.CannotTell},
		{"nothing carried", "goodput", []float64{0, 0, 0}, []float64{0, 0, 0}, "", result.CannotTell},
		{"a noisy run", "retransmits", []float64{0, 0, 0}, []float64{0, 0, 0}, "half of its trials are invalid", result.CannotTell},
	} {
		for _, pairing := range []Pairing{PairBlocks, PairNone} {
			in := Input{Modes: hostAnd, Workloads: []string{"stream"}, Trials: join(rows("host", c.metric, c.host...), rows("veth", c.metric, c.veth...)), Rule: Rule{Margin: 0.05, Pairing: pairing, Noisy: c.noisy}}
			cells, _ := Judge(in)
			if v := cells[1]; v.Verdict != c.want || v.Ratio != nil {
				t.Errorf("%s, pairing %q: %s, ratio %v; want %s", c.name, pairing, v.Verdict, v.Ratio, c.want)
			}
			if got := Comparisons(in, nil, []ComparisonRequest{{ID: "x", A: []string{"veth"}, B: []string{"host"}}}); len(got) != 1 || got[0].Verdict != c.want {
				t.Errorf("%s: asked for: %+v", c.name, got)
			}
		}
		run := taken(join(rows("host", c.metric, c.host...), rows("veth", c.metric, c.veth...)), hostAnd...)
		run.Run.Noisy = c.noisy
		want := c.want
		if c.name == "some in one" { // the baseline itself has none in either run
			want = result.Same
		}
		if got := Across(run, run, nil, 0.05); len(got.Cells) != 1 || got.Cells[0].Verdict != want || got.Cells[0].Ratio != nil {
			t.Errorf("%s, in two runs: %+v; want %s", c.name, got.Cells, want)
		}
	}
}

// The longest round trip has a value and nothing else: one exchange decides it.
func TestMaximumHasNoVerdict(t *testing.T) {
	before := join(rows("host", "rtt_max", 5e-3, 5.1e-3, 5e-3, 5e-3), rows("veth", "rtt_max", 6e-3, 6.1e-3, 6e-3, 6e-3))
	after := join(rows("host", "rtt_max", 5e-3, 5.1e-3, 5e-3, 5e-3), rows("veth", "rtt_max", 2.5e-3, 2.6e-3, 2.5e-3, 2.5e-3))
	in := Input{Modes: hostAnd, Workloads: []string{"stream"}, Trials: after, Rule: Rule{Margin: 0.05}}
	cells, _ := Judge(in)
	if c := cells[1]; c.Verdict != "" || c.Ratio != nil || c.P != nil || c.Value == nil || c.BlocksNeeded != nil {
		t.Errorf("%+v", c)
	}
	changes := Across(taken(before, hostAnd...), taken(after, hostAnd...), nil, 0.05).Cells
	if len(changes) != 2 {
		t.Fatalf("%+v", changes)
	}
	for _, c := range changes {
		if c.Verdict != "" || c.Ratio != nil || c.P != nil || c.Before == nil || c.After == nil || c.BlocksNeeded != nil {
			t.Errorf("%+v", c)
		}
	}
	asked := Comparisons(in, nil, []ComparisonRequest{{ID: "x", A: []string{"veth"}, B: []string{"host"}}})
	if len(asked) != 1 || asked[0].Verdict != "" || asked[0].Ratio != nil || asked[0].A.Value == nil {
		t.Errorf("asked for: %+v", asked)
	}
}
