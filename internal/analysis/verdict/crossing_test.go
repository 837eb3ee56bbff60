package verdict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"tare/internal/analysis/verdict"

	"tare/internal/analysis"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

// curve is the log ratio of veth to host at a number of flows.
type curve func(flows float64) float64

// crossesAt is a straight line in the logarithm of the number that is 0 at n.
func crossesAt(n, slope float64) curve {
	return func(flows float64) float64 { return slope * math.Log2(flows/n) }
}

func concurrencyOf(counts ...int) plan.Concurrency {
	c := plan.Concurrency{Workload: "rr", Key: "flows", Counts: counts}
	for _, n := range counts {
		c.Names = append(c.Names, fmt.Sprintf("rr@%dflows", n))
	}
	return c
}

// curves are the trials of host and veth, with independent noise in each trial and noise
// that a block shares.
func curves(of plan.Concurrency, metric string, length int, noise float64, f curve, rng *rand.Rand) []result.Trial {
	var out []result.Trial
	for i, n := range of.Counts {
		for b := range length {
			shared := 0.05 * rng.NormFloat64()
			value := func(mode string, log float64) result.Trial {
				t := blocks.Row(b+1, mode, metric, 1000*float64(n)*math.Exp(shared+log+noise*rng.NormFloat64()))
				t.Workload = of.Names[i]
				return t
			}
			out = append(out, value("host", 0), value("veth", f(float64(n))))
		}
	}
	return out
}

func crossingsIn(t *testing.T, of plan.Concurrency, trials []result.Trial, rule verdict.Rule) []result.Crossing {
	t.Helper()
	found, ok := verdict.Crossings(verdict.Input{Modes: blocks.HostAnd(), Trials: trials, Rule: rule}, of)
	must.Require(t, ok && found.Workload == "rr" && found.Key == "flows" && len(found.Steps) == len(of.Counts) && found.Steps[0].Workload == of.Names[0], "%t %+v", ok, found)
	return found.Crossings
}

func TestCrossing(t *testing.T) {
	of := concurrencyOf(1, 4, 16, 64, 256)
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(20, 4)) }
	line := crossesAt(12, 0.1)
	for name, c := range map[string]struct {
		metric string
		f      curve
		want   []float64
		first  string // the mode that is better below the first crossing
	}{
		"one":                            {"transaction_rate", line, []float64{12}, "host"},
		"the other way":                  {"transaction_rate", crossesAt(12, -0.1), []float64{12}, "veth"},
		"on a measured number":           {"transaction_rate", crossesAt(16, 0.1), []float64{16}, "host"},
		"two":                            {"transaction_rate", func(n float64) float64 { return 0.1 * (math.Abs(math.Log2(n/16)) - 2) }, []float64{4, 64}, "veth"},
		"none, apart everywhere":         {"transaction_rate", func(n float64) float64 { return -0.3 + 0.03*math.Log2(n) }, nil, ""},
		"none, nowhere apart":            {"transaction_rate", func(float64) float64 { return 0 }, nil, ""},
		"touching at one number":         {"transaction_rate", func(n float64) float64 { return 0.1 * math.Abs(math.Log2(n/16)) }, nil, ""},
		"touching at the highest number": {"transaction_rate", crossesAt(256, 0.1), nil, ""},
		"a metric that is not the main":  {"rtt_p50", line, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			trials := curves(of, c.metric, 10, 0.01, c.f, rng())
			if c.metric != "transaction_rate" {
				found, ok := verdict.Crossings(verdict.Input{Modes: blocks.HostAnd(), Trials: trials}, of)
				must.True(t, !ok, "%+v", found)
				return
			}
			got := crossingsIn(t, of, trials, verdict.Rule{})
			must.Require(t, len(got) == len(c.want), "%d crossings, want %d: %+v", len(got), len(c.want), got)
			for i, want := range c.want {
				x := got[i]
				if math.Abs(math.Log2(x.At/want)) > 0.15 || !(x.CI[0] <= want && want <= x.CI[1]) || !(x.CI[0] <= x.At && x.At <= x.CI[1]) || x.CI[1]/x.CI[0] > 1.5 || x.N != 10 {
					t.Errorf("%+v, want it at %g", x, want)
				}
				must.True(t, x.A != x.B && (i != 0 || x.A == c.first), "%s is better than %s below, want %s", x.A, x.B, c.first)
				must.True(t, x.Below.Ratio > 1 && x.Above.Ratio < 1 && float64(x.Below.Count) <= x.CI[0] && float64(x.Above.Count) >= x.CI[1],
					"the ratio is %+v below and %+v above", x.Below, x.Above)
			}
		})
	}
}

// Without noise the crossing is exact.
func TestCrossingExact(t *testing.T) {
	of := concurrencyOf(1, 16, 256)
	got := crossingsIn(t, of, curves(of, "connection_rate", 3, 0, crossesAt(10, 0.1), rand.New(rand.NewPCG(1, 1))), verdict.Rule{})
	if len(got) != 1 || math.Abs(got[0].At-10) > 1e-6 || math.Abs(got[0].CI[0]-10) > 1e-3 || math.Abs(got[0].CI[1]-10) > 1e-3 ||
		got[0].Below.Count != 1 || got[0].Above.Count != 16 || math.Abs(math.Log(got[0].Below.Ratio)-0.1*math.Log2(10)) > 1e-6 {
		t.Errorf("%+v", got)
	}
}

// A block counts for a crossing if both modes have all its numbers. A number at which one
// mode could not be measured is left out instead.
func TestCrossingOfIncompleteRuns(t *testing.T) {
	of := concurrencyOf(1, 4, 16, 64)
	all := curves(of, "transaction_rate", 8, 0.01, crossesAt(8, 0.1), rand.New(rand.NewPCG(2, 2)))
	without := func(drop func(tr result.Trial) bool) []result.Trial {
		var out []result.Trial
		for _, tr := range all {
			if !drop(tr) {
				out = append(out, tr)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		trials []result.Trial
		rule   verdict.Rule
		n      int // blocks of the crossing, 0 for none
	}{
		"all":        {all, verdict.Rule{}, 8},
		"one lost":   {without(func(tr result.Trial) bool { return tr.Block == 3 && tr.Mode == "veth" && tr.Workload == of.Names[1] }), verdict.Rule{}, 7},
		"never at 4": {without(func(tr result.Trial) bool { return tr.Mode == "veth" && tr.Workload == of.Names[1] }), verdict.Rule{}, 8},
		"once at 64": {without(func(tr result.Trial) bool { return tr.Block != 3 && tr.Mode == "host" && tr.Workload == of.Names[3] }), verdict.Rule{}, 8},
		"two blocks": {without(func(tr result.Trial) bool { return tr.Block > 2 }), verdict.Rule{}, 0},
		"noisy":      {all, verdict.Rule{Noisy: "too many are invalid"}, 0},
		"one number": {without(func(tr result.Trial) bool { return tr.Mode == "veth" && tr.Workload != of.Names[2] }), verdict.Rule{}, 0},
	} {
		got := crossingsIn(t, of, c.trials, c.rule)
		if c.n == 0 && len(got) > 0 || c.n > 0 && (len(got) != 1 || got[0].N != c.n || math.Abs(math.Log2(got[0].At/8)) > 0.2) {
			t.Errorf("%s: %+v, want %d blocks", name, got, c.n)
		}
	}
}

// The interval holds the truth in 95 % of the runs that find a crossing, with few blocks,
// too, and equal modes are rarely said to cross.
func TestCrossingCoverage(t *testing.T) {
	of := concurrencyOf(1, 4, 16, 64, 256)
	rng := rand.New(rand.NewPCG(7, 7))
	for _, blocks := range []int{4, 10} {
		const runs = 1500
		found, held := 0, 0
		for range runs {
			for _, c := range crossingsIn(t, of, curves(of, "transaction_rate", blocks, 0.03, crossesAt(12, 0.08), rng), verdict.Rule{}) {
				found++
				if c.CI[0] <= 12 && 12 <= c.CI[1] {
					held++
				}
			}
		}
		share := float64(held) / float64(found)
		must.True(t, found >= runs/2 && share >= 0.93 && share <= 0.97, "%d blocks: %d of %d intervals hold the crossing", blocks, held, found)
	}
	alarms := 0
	for range 1500 {
		alarms += len(crossingsIn(t, of, curves(of, "transaction_rate", 5, 0.03, func(float64) float64 { return 0 }, rng), verdict.Rule{}))
	}
	must.True(t, alarms <= 15, "%d of 1500 runs of equal modes have a crossing", alarms)
}

// A run of a study with a list of flows records its curve and its crossings, and judging it
// again changes nothing.
func TestEvaluateConcurrency(t *testing.T) {
	of := concurrencyOf(1, 16, 256)
	s := study.Study{Modes: study.ModesOf("host", "veth"), Blocks: 6, Margin: 0.05, Workloads: []study.Workload{{ID: "rr", Kind: "tcp_rr", FlowCounts: study.Counts{1, 16, 256}}}}
	in := analysis.Evidence{Study: s, Trials: curves(of, "transaction_rate", 6, 0.01, crossesAt(12, 0.1), rand.New(rand.NewPCG(5, 5))), Lab: true}
	run := analysis.Evaluate(result.Run{Status: result.RunComplete, Modes: blocks.HostAnd()}, in)
	must.Require(t, len(run.Concurrencies) == 1 && len(run.Concurrencies[0].Crossings) == 1 && len(run.Cells) == 6, "%d cells, %+v", len(run.Cells), run.Concurrencies)
	again := analysis.Evaluate(run, in)
	must.True(t, reflect.DeepEqual(again.Concurrencies, run.Concurrencies), "judged again: %+v", again.Concurrencies)
}

// Where blocks share a set-up, whose level is drawn once, the interval of a crossing is that of the set-ups.
func TestCrossingOfSetups(t *testing.T) {
	const sessions, blocks = 300, 10
	of := concurrencyOf(1, 4, 16, 64, 256)
	covered := map[bool]int{}
	found := map[bool]int{}
	for seed := range sessions {
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		levels := make([]float64, blocks/2)
		for i := range levels {
			levels[i] = 0.04 * rng.NormFloat64()
		}
		trials := curves(of, "transaction_rate", blocks, 0.01, crossesAt(16, 0.1), rng)
		for i := range trials {
			if t := &trials[i]; t.Mode == "veth" {
				t.Metrics["transaction_rate"] *= math.Exp(levels[(t.Block-1)/2])
			}
		}
		for _, recorded := range []bool{false, true} {
			for i := range trials {
				if t := &trials[i]; recorded && t.Mode == "veth" {
					t.Setup = 1 + (t.Block-1)/2
				} else if recorded {
					t.Setup = t.Block
				}
			}
			for _, c := range crossingsIn(t, of, trials, verdict.Rule{Margin: 0.05}) {
				found[recorded]++
				if c.CI[0] <= 16 && 16 <= c.CI[1] {
					covered[recorded]++
				}
			}
		}
	}
	by, blind := float64(covered[true])/float64(found[true]), float64(covered[false])/float64(found[false])
	t.Logf("covered by set-ups %.3f of %d, by blocks %.3f of %d", by, found[true], blind, found[false])
	must.True(t, by >= 0.93 && blind <= 0.90 && found[true] >= sessions*8/10,
		"the intervals of %d crossings cover %.3f by set-ups, of %d %.3f by blocks", found[true], by, found[false], blind)
}
