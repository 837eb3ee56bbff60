package parts_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/analysis/parts"

	"tare/internal/analysis"
	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// built is a run of a cost by parts whose parts have known costs in microseconds per transaction.
// Blocks differ in pace, which all modes of a block share.
func built(blocks int, modes map[string]float64) (in verdict.Input) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, id := range []string{"host", "r1", "r2", "top", "no-p1", "more"} {
		us, has := modes[id]
		if !has {
			continue
		}
		m := result.Mode{ID: id, Status: result.ModeMeasured, Baseline: "host"}
		if id == "host" {
			m.Baseline = ""
		}
		in.Modes = append(in.Modes, m)
		for b := range blocks {
			pace := 1 + 0.2*math.Sin(float64(b)) // shared by the block
			time := us * 1e-6 * pace * (1 + 0.002*rng.NormFloat64())
			in.Trials = append(in.Trials, result.Trial{Block: b + 1, Seq: len(in.Trials) + 1, Mode: id, Workload: "rr", Attempt: 1, Status: result.TrialOK,
				Metrics: map[string]float64{"transaction_rate": 1 / time, result.CPUCostTransactions: 1000 * time}})
		}
	}
	in.Workloads, in.Rule = []string{"rr"}, verdict.Rule{Margin: 0.05}
	return in
}

func threeParts() *study.CostByParts {
	return &study.CostByParts{Of: "top",
		Modes:    []study.PartMode{{Mode: "host"}, {Mode: "r1", Part: "p1"}, {Mode: "r2", Part: "p2"}, {Mode: "top", Part: "p3", Rest: true}, {Mode: "more", Part: "p4", Beyond: true}},
		Removals: []study.PartMode{{Mode: "no-p1", Part: "p1"}}}
}

// Every step has the cost that was built in, within its interval; the steps and the whole
// agree; what a part saves when removed differs from what it added, and is said to.
func TestCostByParts(t *testing.T) {
	in := built(20, map[string]float64{"host": 10, "r1": 12, "r2": 12, "top": 15, "no-p1": 14.5, "more": 16})
	l := parts.Evaluate(in, threeParts(), nil)
	must.Require(t, l != nil && len(l.Costs) == 2 && l.Costs[0].Metric == "transaction_rate" && l.Costs[0].Unit == "s/transaction", "%+v", l)
	c := l.Costs[0]
	pace := c.Baseline.Value / 10e-6
	var sum float64
	for i, want := range []float64{2e-6, 0, 3e-6, 1e-6} {
		s := c.Steps[i]
		want *= pace
		must.True(t, s.Cost.CI != nil && math.Abs(s.Cost.Value-want) <= 0.1e-6 && s.Cost.N == 20, "step %v costs %+v, want %g", s.Parts, s.Cost, want)
		if !s.Beyond {
			sum += s.Cost.Value
		}
		verdict := result.Worse
		if want == 0 {
			verdict = result.Same
		}
		must.EqualFor(t, fmt.Sprintf("step %v", s.Parts), verdict, s.Verdict)
	}
	must.True(t, math.Abs(sum-c.Whole.Value) <= 1e-12, "the steps add up to %g, the whole is %g", sum, c.Whole.Value)
	s := c.Steps[0]
	must.True(t, math.Abs(*s.Share-0.2) <= 0.01 && s.ShareCI != nil, "the share of the first step: %v %v", s.Share, s.ShareCI)
	r := c.Removals[0]
	must.True(t, r.With == "top" && r.Without == "no-p1" && math.Abs(r.Cost.Value-0.5e-6*pace) <= 0.1e-6, "the removal: %+v", r)
	must.True(t, r.Interaction != nil && math.Abs(r.Interaction.Value-1.5e-6*pace) <= 0.2e-6, "the interaction: %+v", r.Interaction)
	in = built(20, map[string]float64{"host": 10, "r1": 12, "r2": 12, "top": 15, "no-p1": 13})
	must.EqualFor(t, "an interaction of parts that do not interact", (*result.Amount)(nil), parts.Evaluate(in, threeParts(), nil).Costs[0].Removals[0].Interaction)
}

// A mode without values gives its part to the next one, and says why.
func TestCostByPartsWithGap(t *testing.T) {
	in := built(8, map[string]float64{"host": 10, "r2": 12, "top": 15})
	in.Modes = append(in.Modes, result.Mode{ID: "r1", Status: result.ModeVoid, Reason: "no proof"})
	l := parts.Evaluate(in, threeParts(), nil)
	s := l.Costs[0].Steps
	must.True(t, len(s) == 2 && fmt.Sprint(s[0].Parts) == "[p1 p2]" && s[0].Without == "host" && s[0].With == "r2", "%+v", s)
	must.True(t, l.Modes[1].Reason == "void: no proof" && l.Removals[0].Reason == "it was not measured" && l.Modes[0].Reason == "", "%+v", l.Modes)
	must.EqualFor(t, "a ladder that nobody asked for", (*result.CostByParts)(nil), parts.Evaluate(in, nil, nil))
}

// A cost that no sample shows is contradicted; one that grew in the samples is not.
func TestPartsAgainstSamples(t *testing.T) {
	in := built(20, map[string]float64{"host": 10, "r1": 12, "top": 15})
	asked := &study.CostByParts{Of: "top", Modes: []study.PartMode{{Mode: "host"}, {Mode: "r1", Part: "bridge"}, {Mode: "top", Part: "conntrack"}}}
	of := func(mode string, bridge, netfilter float64) result.Breakdown {
		return result.Breakdown{Mode: mode, Workload: "rr", Unit: "s/1000 transactions",
			Components: []result.Component{{Name: "bridge", Cost: &bridge}, {Name: "netfilter", Cost: &netfilter}}}
	}
	l := parts.Evaluate(in, asked, []result.Breakdown{of("host", 0, 0), of("r1", 0.002, 0), of("top", 0.002, 0)})
	cpu := l.Costs[1].Steps
	must.True(t, cpu[0].Sampled != nil && *cpu[0].Sampled == 0.002 && cpu[0].Contradicts == "", "the bridge: %+v", cpu[0])
	must.EqualFor(t, fmt.Sprintf("connection tracking: %+v", cpu[1]), "the samples show no more time in netfilter", cpu[1].Contradicts)
	must.True(t, l.Costs[0].Steps[0].Sampled == nil, "times of transactions were compared with samples of CPU time")
}

// The steps of a cost by parts are compared as such, and not as a ranking.
func TestCostByPartsHasNoRanking(t *testing.T) {
	in := built(5, map[string]float64{"host": 10, "r1": 12, "r2": 12, "top": 15, "no-p1": 14.5, "more": 16})
	s := study.Study{Workloads: []study.Workload{{Kind: "tcp_rr", ID: "rr"}}}
	for _, l := range []*study.CostByParts{nil, threeParts()} {
		s.CostByParts = l
		run := analysis.Evaluate(result.Run{Modes: in.Modes}, analysis.Evidence{Study: s, Trials: in.Trials})
		n := len(run.Rankings)
		must.True(t, (n == 0) == (l != nil), "with the ladder %v: %d rankings of %d cells", l, n, len(run.Cells))
	}
}
