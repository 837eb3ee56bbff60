package section

import (
	"math"
	"testing"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// However many trials do not count, a page lists no more than so many.
func TestLostAreBounded(t *testing.T) {
	b := model.NewBuilder(model.New(reports.Drawable(1)))
	b.Lost = make([]result.Trial, 1000)
	lost := Trials(b)[0].(doc.Section).Blocks
	if n := len(lost[1].(doc.List).Items); n != mostLostRows || lost[2].(doc.Paragraph).Text == "" {
		t.Errorf("%d, %+v", n, lost[2])
	}
}

// A report draws where two curves cross, and says where none do.
func TestConcurrency(t *testing.T) {
	in := reports.Concurrent()
	v := model.New(in)
	must.Require(t, len(v.Concurrencies) == 1 && len(v.Sweeps) == 0, "%d curves and %d sweeps of loads", len(v.Concurrencies), len(v.Sweeps))
	c := v.Concurrencies[0]
	values, ratios := values(c), ratios(c)
	n := len(values.Plane.Lanes[0].Lines)
	must.True(t, n == 3 && len(values.Plane.Lanes[0].Lines[0].Points) == 5 && len(values.Plane.Lanes[0].Flags) == 1, "%d curves: %+v", n, values.Plane)
	if n := len(ratios.Plane.Lanes); n != 2 || len(ratios.Plane.Lanes[0].Bands) != 5 {
		t.Errorf("%d ratios: %+v", n, ratios.Plane)
	}
	at := values.Plane.Lanes[0].Flags[0].X
	must.True(t, math.Abs(math.Log2(at/12)) <= 0.5, "the mark is at %g", at)
}

// Crossings of a file that cannot be drawn are left out.
func TestOddCrossings(t *testing.T) {
	good := result.Crossing{A: "rootless/slirp4netns", B: "rootless/pasta", At: 12, CI: result.Interval{8, 20}, Below: result.CrossingRatio{Count: 4, Ratio: 1.1}, Above: result.CrossingRatio{Count: 64, Ratio: 0.8}}
	bad := []func(*result.Crossing){
		func(c *result.Crossing) { c.At = -1 }, func(c *result.Crossing) { c.At = math.Inf(1) }, func(c *result.Crossing) { c.CI[1] = math.NaN() },
		func(c *result.Crossing) { c.Below.Ratio = 0 }, func(c *result.Crossing) { c.A = "netns/ipvlan" }, func(c *result.Crossing) { c.B = "nowhere" },
	}
	in := reports.Concurrent()
	in.Run.Concurrencies[0].Crossings = []result.Crossing{good}
	for _, spoil := range bad {
		odd := good
		spoil(&odd)
		in.Run.Concurrencies[0].Crossings = append([]result.Crossing{odd}, in.Run.Concurrencies[0].Crossings...)
	}
	c := model.New(in).Concurrencies[0]
	if got := sentences(c); len(got) != 1 || got[0] != "rootless/slirp4netns is faster than rootless/pasta below about 12 (8 to 20) flows (+10 % at 4), and slower above (-20 % at 64)." {
		t.Errorf("%q", got)
	}
	must.Equal(t, 1, len(flags(c)))
}

func TestLossWords(t *testing.T) {
	for want, r := range map[string]lossRow{
		"nothing lost in 1 trial":                                                          {Trials: 1},
		"10 lost in 2 trials: bridge (a) 90 %; unexplained 10 %":                           {Trials: 2, Lost: 10, Unexplained: 1, Places: []lossPlace{{Title: "bridge", Where: "a", Counter: "x", Count: 5}, {Title: "bridge", Where: "a", Counter: "y", Count: 4}}},
		"1000 lost in 2 trials: qdisc > 99 %; firewall < 1 %; 2 more attributed than lost": {Trials: 2, Lost: 1000, Unexplained: -2, Places: []lossPlace{{Title: "qdisc", Count: 998}, {Title: "firewall", Count: 4}}},
		"0 lost in 2 trials: qdisc 3; 3 more attributed than lost":                         {Trials: 2, Unexplained: -3, Places: []lossPlace{{Title: "qdisc", Count: 3}}},
	} {
		must.Equal(t, want, r.words())
	}
}

func TestLimitsAlike(t *testing.T) {
	row := func(mode string, shares ...float64) limitRow {
		r := limitRow{Mode: mode}
		for i := range shares {
			r.Shares[i] = &shares[i]
		}
		return r
	}
	must.Equal(t, "all modes alike: application 50 to 52 %, receive window 0 %, send buffer 0 %, network 48 to 50 %", (limitTable{Rows: []limitRow{row("a", 0.5, 0, 0, 0.5), row("b", 0.52, 0, 0, 0.48)}}).alike())
	for _, rows := range [][]limitRow{{row("a", 0.5, 0, 0, 0.5), row("b", 0.4, 0.1, 0, 0.5)}, {row("a", 0.5, 0, 0, 0.5), row("b", 0.5)}, {row("a", 1, 0, 0, 0)}} {
		must.EqualFor(t, rows, "", (limitTable{Rows: rows}).alike())
	}
}

// A scenario whose trials all failed says so, and why.
func TestScenarioWithoutTrials(t *testing.T) {
	in := model.Input{Run: result.Run{
		Modes:     []result.Mode{{ID: "host", Status: result.ModeMeasured}},
		Scenarios: []result.Scenario{{ID: "A", Mode: "host", Workload: "tcp-50"}, {ID: "B", Mode: "host", Workload: "tcp_rr"}},
	}, Trials: []result.Trial{
		{Block: 1, Mode: "host", Workload: "tcp-50", Status: result.TrialFailed, Reason: "0 of 50 connections came"},
		{Block: 1, Mode: "host", Workload: "tcp-50", Status: result.TrialFailed, Reason: "1 of 50 connections came"},
	}}
	var got []string
	for _, r := range scenariosOf(model.New(in))[0].Rows {
		got = append(got, r.Verdict())
	}
	must.Equal(t, []string{"no valid trial, 2 failed: 1 of 50 connections came", "no trial"}, got)
}
