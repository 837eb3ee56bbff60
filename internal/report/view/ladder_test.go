package view

import (
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/wording"
)

// explained is a run that explains docker/published: one rung is void, one part costs nothing,
// one depends on the others, the engine has a rest, and one setting comes on top.
func explained() Input {
	run := result.Run{
		Schema: result.Schema, ID: "e4b1a1ed", Started: time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 8, 3, 9, 5, 0, 0, time.UTC),
		Status: result.RunComplete, Tare: result.Build{Version: "0.3.0"}, Seed: 3, Profile: "quick",
	}
	ladder := study.Ladder{Of: "docker/published",
		Rungs: []study.Rung{{Mode: "host"}, {Mode: "upto-namespace", Part: "namespace", Title: "a network namespace and a veth"},
			{Mode: "upto-bridge", Part: "bridge", Title: "the bridge", Avoid: "use a network without a bridge"}, {Mode: "netns/published", Part: "dnat", Title: "the rule of the published port"},
			{Mode: "upto-engine", Part: "engine", Title: "what the engine adds and no part names", Rest: true},
			{Mode: "docker/published", Part: "seccomp", Title: "the container's seccomp profile"},
			{Mode: "and-bridge_nf", Part: "bridge_nf", Title: "bridged packets pass iptables", Avoid: "turn it off", Beyond: true}},
		Removals: []study.Rung{{Mode: "no-dnat", Part: "dnat", Title: "the rule of the published port"}, {Mode: "upto-engine", Part: "seccomp", Title: "the container's seccomp profile"}}}
	micros := map[string]float64{"host": 10, "upto-namespace": 12, "netns/published": 15, "upto-engine": 15.4, "docker/published": 15.4, "and-bridge_nf": 17, "no-dnat": 15.2}
	var trials []result.Trial
	for _, id := range []string{"host", "upto-namespace", "upto-bridge", "netns/published", "upto-engine", "docker/published", "and-bridge_nf", "no-dnat"} {
		m := result.Mode{ID: id, Title: "a variant", Status: result.ModeMeasured, Baseline: "host"}
		switch id {
		case "host":
			m.Baseline, m.Title = "", "process on a to process on b"
		case "upto-bridge":
			m.Status, m.Reason = result.ModeVoid, "the path is not proven"
		}
		run.Modes = append(run.Modes, m)
		if m.Status == result.ModeVoid {
			continue
		}
		for b := range 6 {
			time := 1e-6 * micros[id] * (1 + 0.004*math.Sin(float64(7*b)+micros[id]))
			trials = append(trials, result.Trial{Schema: result.TrialSchema, Seq: len(trials) + 1, Block: b + 1, Attempt: 1, Mode: id, Workload: "tcp_rr", Status: result.TrialOK,
				Started: run.Started, Window: 1, Metrics: map[string]float64{"transaction_rate": 1 / time, result.CPUCostTransactions: 1000 * time}})
		}
	}
	s := study.Study{Margin: 0.03, Profile: study.Quick, Workloads: []study.Workload{{Kind: "tcp_rr"}}, Ladder: &ladder}
	run = analysis.Evaluate(run, analysis.Evidence{Study: s, Trials: trials, Lab: true})
	return Input{Run: run, Trials: trials, Title: "What the parts of docker/published cost", FiguresDir: "figures", Page: "report.html", Full: "tare report --full DIR"}
}

func hostileLadder(evil, mode string) *result.Ladder {
	nan := &result.Amount{Value: math.NaN(), CI: &result.Interval{math.Inf(-1), math.Inf(1)}, N: -3}
	big := &result.Amount{Value: 1e308, CI: &result.Interval{-1e308, 1e308}}
	return &result.Ladder{Mode: mode, Baseline: "base " + evil,
		Rungs:    []result.Rung{{Mode: evil, Part: evil, Title: evil, Reason: evil}, {}},
		Removals: []result.Rung{{Mode: evil, Part: evil, Title: evil}},
		Costs: []result.LadderCost{{}, {Workload: evil, Metric: evil, Unit: evil, Baseline: big, Whole: nan},
			{Workload: evil, Metric: "transaction_rate", Unit: "s/transaction", Baseline: big, Whole: big,
				Steps: []result.LadderStep{{}, {Parts: []string{evil, evil}, With: evil, Cost: nan, Share: new(math.NaN()), Verdict: result.Verdict(evil), Contradicts: evil},
					{Parts: []string{evil}, With: mode, Cost: big, Ratio: new(math.Inf(1)), Beyond: true}},
				Removals: []result.LadderStep{{Parts: []string{evil}, Cost: big, Interaction: nan}, {Interaction: big}}}}}
}

// The figure has a bar for every part. That the first screen has them, those of a void rung together with the next, is
// in its golden file.
func TestExplained(t *testing.T) {
	svg := string(New(explained()).Figures()["tcp_rr-why-transaction_rate.svg"])
	if n := strings.Count(svg, `<rect class="part k`); n < 6 {
		t.Errorf("%d bars in the waterfall", n)
	}
}

// What removing a part changes is told in words, by the sign of what the part costs.
func TestRemoved(t *testing.T) {
	for want, c := range map[string]struct {
		metric string
		value  float64
	}{
		"0.50 us slower ±0.02": {"transaction_rate", -0.5e-6}, "0.50 us faster ±0.02": {"transaction_rate", 0.5e-6}, "no change ±0.02": {"transaction_rate", 0.001e-6},
		"0.50 us more ±0.02": {result.CPUCostTransactions, -0.5e-6}, "0.50 us less ±0.02": {result.CPUCostTransactions, 0.5e-6},
	} {
		l := ladderCost{LadderCost: result.LadderCost{Metric: c.metric}, scale: wording.ScaleFor("s/transaction", 1e-5)}
		change, interval := l.removed(&result.Amount{Value: c.value, CI: &result.Interval{c.value - 0.02e-6, c.value + 0.02e-6}})
		if got := change + " " + interval; got != want {
			t.Errorf("%g: %q, want %q", c.value, got, want)
		}
	}
	if change, interval := (ladderCost{}).removed(nil); change != wording.Unknown || interval != "" {
		t.Errorf("unknown: %q %q", change, interval)
	}
}

// No advice is given to end a part without which the mode was slower.
func TestAdviceFollowsRemovals(t *testing.T) {
	l := &result.Ladder{Rungs: []result.Rung{{Part: "bridge", Avoid: "use macvlan"}, {Part: "dnat", Avoid: "do without"}}}
	cost := &result.Amount{Value: 1e-6}
	c := ladderCost{LadderCost: result.LadderCost{Unit: "s/transaction", Steps: []result.LadderStep{
		{Parts: []string{"bridge"}, Cost: cost, Verdict: result.Worse}, {Parts: []string{"dnat"}, Cost: cost, Verdict: result.Worse}}}}
	must.Equal(t, 2, len(c.avoidable(l)))
	c.Removals = []result.LadderStep{{Parts: []string{"bridge"}, Verdict: result.Better}, {Parts: []string{"dnat"}, Verdict: result.Worse}}
	got := c.avoidable(l)
	if len(got) != 1 || got[0].About[0] != "dnat" {
		t.Errorf("advice %+v", got)
	}
}
