package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/blocks"
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
			trials := blocks.Join(blocks.Rows("host", "goodput", c.host...), blocks.Rows("veth", "goodput", c.veth...), blocks.Rows("vxlan", "goodput", c.vxlan...))
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
