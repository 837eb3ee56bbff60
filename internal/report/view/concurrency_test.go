package view

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// concurrent is a run of tcp_rr at several numbers of flows, in which the curves of two
// modes cross at 12 flows, and a third mode was not measured.
func concurrent() Input {
	of := plan.Concurrency{Workload: "tcp_rr", Key: "flows", Counts: []int{1, 4, 16, 64, 256}}
	for _, n := range of.Counts {
		of.Names = append(of.Names, fmt.Sprintf("tcp_rr@%dflows", n))
	}
	run := result.Run{
		Schema: result.Schema, ID: "c0ffee01", Started: time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 8, 3, 9, 4, 0, 0, time.UTC),
		Status: result.RunComplete, Tare: result.Build{Version: "0.3.0"}, Seed: 11, Profile: "standard",
		Modes: []result.Mode{
			{ID: "host", Title: "The host's own stack, over the underlay", Status: result.ModeMeasured},
			{ID: "rootless/pasta", Title: "A user-mode network", Baseline: "host", Status: result.ModeMeasured},
			{ID: "rootless/slirp4netns", Title: "Another user-mode network", Baseline: "host", Status: result.ModeMeasured},
			{ID: "netns/ipvlan", Title: "ipvlan in L2 mode", Baseline: "host", Status: result.ModeUnsupported, Reason: "the kernel has no ipvlan"},
		},
	}
	rng := rand.New(rand.NewPCG(3, 5))
	var trials []result.Trial
	for block := 1; block <= 8; block++ {
		for i, n := range of.Counts {
			host := 40e3 * math.Pow(float64(n), 0.3) * (1 + 0.05*rng.NormFloat64())
			slow := host * 0.3
			for j, v := range []float64{host, slow * math.Exp(0.08*math.Log2(float64(n)/12)), slow} {
				v *= 1 + 0.02*rng.NormFloat64()
				trials = append(trials, result.Trial{Schema: result.TrialSchema, Seq: len(trials) + 1, Block: block, Mode: run.Modes[j].ID, Workload: of.Names[i], Attempt: 1,
					Status: result.TrialOK, Started: run.Started, Metrics: map[string]float64{"transaction_rate": math.Round(v), "rtt_p99": 3 * float64(n) / v * (1 + 0.05*rng.NormFloat64())}})
			}
		}
	}
	in := analysis.Input{Modes: run.Modes, Workloads: of.Names, Trials: trials, Rule: analysis.Rule{Margin: 0.05}}
	run.Cells, _ = analysis.Judge(in)
	run.Trials = result.Count(trials)
	found, _ := analysis.Crossings(in, of)
	run.Concurrencies = []result.Concurrency{found}
	return Input{Run: run, Trials: trials, Title: "Concurrency", FiguresDir: "figures"}
}

// A report draws where two curves cross, and says where none do.
func TestConcurrency(t *testing.T) {
	in := concurrent()
	v := newView(in)
	if len(v.Concurrencies) != 1 || len(v.Sweeps) != 0 {
		t.Fatalf("%d curves and %d sweeps of loads", len(v.Concurrencies), len(v.Sweeps))
	}
	c := v.Concurrencies[0]
	values, ratios := c.values(), c.ratios()
	if n := len(values.Plane.Lanes[0].Lines); n != 3 || len(values.Plane.Lanes[0].Lines[0].Points) != 5 || len(values.Plane.Lanes[0].Flags) != 1 {
		t.Errorf("%d curves: %+v", n, values.Plane)
	}
	if n := len(ratios.Plane.Lanes); n != 2 || len(ratios.Plane.Lanes[0].Bands) != 5 {
		t.Errorf("%d ratios: %+v", n, ratios.Plane)
	}
	if at := values.Plane.Lanes[0].Flags[0].X; math.Abs(math.Log2(at/12)) > 0.5 {
		t.Errorf("the mark is at %g", at)
	}
}

// A report says where no curves cross.
func TestNoCrossing(t *testing.T) {
	in := concurrent()
	in.Run.Concurrencies[0].Crossings = nil
	must.ContainFor(t, "without a crossing", Text(in, TextOptions{Width: 200}), "No two curves are shown to cross.")
}

// Crossings of a file that cannot be drawn are left out.
func TestOddCrossings(t *testing.T) {
	good := result.Crossing{A: "rootless/slirp4netns", B: "rootless/pasta", At: 12, CI: result.Interval{8, 20}, Below: result.CrossingRatio{Count: 4, Ratio: 1.1}, Above: result.CrossingRatio{Count: 64, Ratio: 0.8}}
	bad := []func(*result.Crossing){
		func(c *result.Crossing) { c.At = -1 }, func(c *result.Crossing) { c.At = math.Inf(1) }, func(c *result.Crossing) { c.CI[1] = math.NaN() },
		func(c *result.Crossing) { c.Below.Ratio = 0 }, func(c *result.Crossing) { c.A = "netns/ipvlan" }, func(c *result.Crossing) { c.B = "nowhere" },
	}
	in := concurrent()
	in.Run.Concurrencies[0].Crossings = []result.Crossing{good}
	for _, spoil := range bad {
		odd := good
		spoil(&odd)
		in.Run.Concurrencies[0].Crossings = append([]result.Crossing{odd}, in.Run.Concurrencies[0].Crossings...)
	}
	c := newView(in).Concurrencies[0]
	if got := c.sentences(); len(got) != 1 || got[0] != "rootless/slirp4netns is faster than rootless/pasta below about 12 (8 to 20) flows (+10 % at 4), and slower above (-20 % at 64)." {
		t.Errorf("%q", got)
	}
	must.Equal(t, 1, len(c.flags()))
}
