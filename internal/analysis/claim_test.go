package analysis_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/result"
	"tare/internal/study"
)

// claimStudy has two sweeps and two workloads.
func claimStudy(claims ...study.Claim) study.Study {
	return study.Study{
		Name: "c", Profile: study.Standard, Blocks: 10, Margin: 0.05, Invalid: study.InvalidDefaults(),
		Modes: []study.Mode{{Mode: "host"}, {Mode: "a"}, {Mode: "b"}, {Mode: "gone"}},
		Workloads: []study.Workload{
			{ID: "tcp", Kind: "tcp_stream"}, {ID: "rr", Kind: "tcp_rr"},
			{ID: "curve", Kind: "udp_sweep", Rates: study.Rates{400e6, 700e6, 896e6}},
			{ID: "many", Kind: "tcp_rr", FlowCounts: study.Counts{1, 16}},
		},
		Scenarios: []study.Scenario{
			{ID: "A", Mode: "host", Workload: "tcp"}, {ID: "B", Mode: "a", Workload: "tcp"}, {ID: "C", Mode: "b", Workload: "tcp"},
			{ID: "M", Mode: "a", Workload: "many"},
		},
		Claims: claims,
	}
}

var claimModes = []result.Mode{
	{ID: "host", Status: result.ModeMeasured}, {ID: "a", Status: result.ModeMeasured, Baseline: "host"}, {ID: "b", Status: result.ModeMeasured, Baseline: "host"},
	{ID: "gone", Status: result.ModeUnsupported, Reason: "no IPsec in this kernel", Baseline: "host"},
}

// series are trials of a mode around a value, with a relative noise.
func series(r *rand.Rand, n int, mode, workload, metric string, value, noise float64) []result.Trial {
	var out []result.Trial
	for block := 1; block <= n; block++ {
		out = append(out, result.Trial{Block: block, Mode: mode, Workload: workload, Status: result.TrialOK, Metrics: map[string]float64{metric: value * math.Exp(noise*r.NormFloat64())}})
	}
	return out
}

func evaluate(s study.Study, run result.Run, trials []result.Trial) []result.Claim {
	run.Modes = claimModes
	return analysis.Evaluate(run, analysis.Evidence{Study: s, Trials: trials, Lab: true}).Claims
}

func claim(holdsIf, metric, workload string, of ...string) study.Claim {
	return study.Claim{ID: "c", Claim: "as claimed", Of: of, Metric: metric, Workload: workload, HoldsIf: holdsIf}
}

// Known answers, by what is true in the synthetic trials: a is 3 times as slow as host, b is 1 %
// slower than host.
func TestClaimOutcomes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	var trials []result.Trial
	for _, m := range []struct {
		mode           string
		goodput, rtt   float64
		loss           [3]float64
		atOne, atMore  float64
		variable, flat float64
	}{{"host", 9e9, 20e-6, [3]float64{0, 0, 0.2}, 100, 1000, 0, 0}, {"a", 3e9, 60e-6, [3]float64{0, 0.001, 0.3}, 95, 500, 0, 0}, {"b", 8.91e9, 20.2e-6, [3]float64{0.004, 0.02, 0.3}, 99, 990, 0, 0}} {
		trials = slices.Concat(trials, series(r, 10, m.mode, "tcp", "goodput", m.goodput, 0.01), series(r, 10, m.mode, "rr", "rtt_p50", m.rtt, 0.01),
			series(r, 10, m.mode, "curve@400Mbit/s", "loss_ratio", m.loss[0], 0.1), series(r, 10, m.mode, "curve@700Mbit/s", "loss_ratio", m.loss[1], 0.1), series(r, 10, m.mode, "curve@896Mbit/s", "loss_ratio", m.loss[2], 0.1),
			series(r, 10, m.mode, "many@1flows", "transaction_rate", m.atOne, 0.005), series(r, 10, m.mode, "many@16flows", "transaction_rate", m.atMore, 0.005))
	}
	over := func(c study.Claim, over ...string) study.Claim { c.Over = over; return c }
	for _, tt := range []struct {
		c      study.Claim
		want   result.ClaimOutcome
		reason string // part of it
		points int
	}{
		{claim("same", "goodput", "", "C", "A"), result.ClaimHolds, "within the margin of 5 %", 0},
		{claim("same", "goodput", "", "B", "A"), result.ClaimDoesNotHold, "is not 1 within the margin", 0},
		{claim("lower", "goodput", "tcp", "a", "host"), result.ClaimHolds, "is lower than 1", 0},
		{claim("higher", "goodput", "tcp", "a", "host"), result.ClaimDoesNotHold, "is not higher than 1", 0},
		{claim("below 0.5", "goodput", "tcp", "a", "host"), result.ClaimHolds, "the ratio is below 0.5, p < 0.001", 0},
		{claim("below 0.3", "goodput", "tcp", "a", "host"), result.ClaimDoesNotHold, "is not below 0.3", 0},
		{claim("above 0.3333", "goodput", "tcp", "a", "host"), result.ClaimCannotTell, "it is not shown whether the ratio is above 0.3333", 0},
		{claim("between 0.3 and 0.4", "goodput", "tcp", "a", "host"), result.ClaimHolds, "between", 0},
		{claim("between 0.4 and 0.7", "goodput", "tcp", "a", "host"), result.ClaimDoesNotHold, "not between", 0},
		{claim("above 0.3 and below 0.4", "goodput", "tcp", "a", "host"), result.ClaimHolds, "above 0.3 and below 0.4", 0},
		{claim("above 8Gbit/s", "goodput", "tcp", "host"), result.ClaimHolds, "the value is above 8Gbit/s", 0},
		{claim("below 30us", "rtt_p50", "rr", "a"), result.ClaimDoesNotHold, "not below 30us", 0},
		{claim("order", "goodput", "tcp", "host", "a"), result.ClaimHolds, "host is before a", 0},
		{claim("order", "goodput", "tcp", "a", "host"), result.ClaimDoesNotHold, "a is not before host", 0},
		{claim("order", "rtt_p50", "rr", "host", "a"), result.ClaimHolds, "", 0}, // lower is better
		{claim("order", "goodput", "", "A", "C", "B"), result.ClaimHolds, "all 2 parts are as claimed", 2},
		{claim("order", "goodput", "", "C", "B", "A"), result.ClaimDoesNotHold, "B is not before A", 2},
		// Loss: all zero, then between.
		{claim("below 0.5% to 700Mbit/s and above 10% from 896Mbit/s", "loss_ratio", "curve", "host"), result.ClaimHolds, "all 3 parts", 3},
		{claim("below 0.5% to 700Mbit/s and above 10% from 896Mbit/s", "loss_ratio", "curve", "b"), result.ClaimDoesNotHold, "700 Mbit/s: the value is not below 0.5%", 3},
		{claim("below 0.5% to 500Mbit/s", "loss_ratio", "curve", "host"), result.ClaimHolds, "", 0},
		{claim("same to 400Mbit/s", "loss_ratio", "curve", "a", "host"), result.ClaimHolds, "all values of both are 0", 0},
		{claim("higher from 600Mbit/s to 700Mbit/s", "loss_ratio", "curve", "a", "host"), result.ClaimHolds, "the difference is higher than 0", 0},
		{claim("below 0.5 to 400Mbit/s", "loss_ratio", "curve", "a", "host"), result.ClaimCannotTell, "a value is 0, which has no ratio", 0},
		{claim("above 0.9 to 1 and below 0.6 from 16flows", "transaction_rate", "many", "a", "host"), result.ClaimHolds, "all 2 parts", 2},
		{claim("above 0.9", "transaction_rate", "many", "a", "host"), result.ClaimDoesNotHold, "16 flows", 2},
		{claim("below 200 to 1flows", "transaction_rate", "", "M"), result.ClaimHolds, "", 0},
		// (a/host)/(b/host) is a/b.
		{over(claim("between 0.3 and 0.4", "goodput", "tcp", "a", "host"), "b", "host"), result.ClaimHolds, "", 0},
		{over(claim("same", "goodput", "tcp", "a", "host"), "b", "host"), result.ClaimDoesNotHold, "", 0},
		{over(claim("same", "goodput", "", "C", "A"), "A", "C"), result.ClaimHolds, "", 0},
		{claim("same", "goodput", "tcp", "gone", "host"), result.ClaimCannotTell, "gone is unsupported: no IPsec in this kernel", 0},
		{claim("order", "goodput", "tcp", "host", "a", "gone"), result.ClaimCannotTell, "no IPsec", 2},
		{claim("order", "goodput", "tcp", "a", "host", "gone"), result.ClaimDoesNotHold, "a is not before host", 2},
		{claim("same", "loss_ratio", "tcp", "a", "host"), result.ClaimCannotTell, "tcp has no loss_ratio with a", 0},
		{claim("same", "rtt_max", "rr", "a", "host"), result.ClaimCannotTell, "maximum", 0},
		{study.Claim{ID: "c", Claim: "x", Needs: "Windows"}, result.ClaimCannotTell, "needs Windows", 0},
	} {
		t.Run(fmt.Sprint(tt.c.HoldsIf, tt.c.Of, tt.c.Over), func(t *testing.T) {
			got := evaluate(claimStudy(tt.c), result.Run{}, trials)[0]
			if got.Outcome != tt.want || !strings.Contains(got.Reason, tt.reason) || len(got.Points) != tt.points {
				t.Errorf("%s: %s, %d points; want %s: %s\n%+v", got.Outcome, got.Reason, len(got.Points), tt.want, tt.reason, got)
			}
			if got.Outcome != result.ClaimCannotTell && got.BlocksNeeded != nil {
				t.Errorf("decided, and needs %d blocks", *got.BlocksNeeded)
			}
		})
	}
}
