package claims_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/analysis/claims"
	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// claimStudy has two sweeps and two workloads.
func claimStudy(claims ...study.Claim) study.Study {
	return study.Study{
		Name: "c", Profile: study.Standard, Blocks: 10, Margin: 0.05, Invalid: study.InvalidDefaults(),
		Modes: []study.Mode{{Mode: "host"}, {Mode: "a"}, {Mode: "b"}, {Mode: "gone"}},
		Workloads: []study.Workload{
			{ID: "tcp", Kind: "tcp_stream"}, {ID: "rr", Kind: "tcp_rr"},
			{ID: "curve", Kind: "udp_sweep", Rates: quantity.Rates{400e6, 700e6, 896e6}},
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
		{claim("below 0.5% to 700Mbit/s and above 10% from 896Mbit/s", "loss_ratio", "curve", "host"), result.ClaimHolds, "all 3 parts are as claimed", 3},
		{claim("below 0.5% to 700Mbit/s", "loss_ratio", "curve", "host"), result.ClaimHolds, "all 2 parts are as claimed: all values are 0", 2},
		{claim("below 0.5% to 400Mbit/s", "loss_ratio", "curve", "host"), result.ClaimHolds, "all values are 0, in 10 blocks", 0},
		{claim("above 0 to 400Mbit/s", "loss_ratio", "curve", "host"), result.ClaimCannotTell, "all values are 0, in 10 blocks", 0},
		{claim("above 1% to 400Mbit/s", "loss_ratio", "curve", "host"), result.ClaimDoesNotHold, "all values are 0, in 10 blocks", 0},
		{claim("higher to 400Mbit/s", "loss_ratio", "curve", "a", "host"), result.ClaimCannotTell, "all values of both are 0, in 10 blocks", 0},
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
		{claim("below 1%", "loss_ratio", "curve", "gone"), result.ClaimCannotTell, "gone is unsupported: no IPsec in this kernel", 3},
		{claim("same", "loss_ratio", "tcp", "a", "host"), result.ClaimCannotTell, "tcp has no loss_ratio with a", 0},
		{claim("same", "rtt_max", "rr", "a", "host"), result.ClaimCannotTell, "maximum", 0},
		{study.Claim{ID: "c", Claim: "x", Needs: "Windows"}, result.ClaimCannotTell, "needs Windows", 0},
	} {
		t.Run(fmt.Sprint(tt.c.HoldsIf, tt.c.Of, tt.c.Over), func(t *testing.T) {
			got := evaluate(claimStudy(tt.c), result.Run{}, trials)[0]
			if got.Outcome != tt.want || !strings.Contains(got.Reason, tt.reason) || strings.Contains(got.Reason, "Mbit/s: gone") || len(got.Points) != tt.points {
				t.Errorf("%s: %s, %d points; want %s: %s\n%+v", got.Outcome, got.Reason, len(got.Points), tt.want, tt.reason, got)
			}
			if got.Outcome != result.ClaimCannotTell && got.BlocksNeeded != nil {
				t.Errorf("decided, and needs %d blocks", *got.BlocksNeeded)
			}
		})
	}
}

// In a synthetic run of the standard size, whose modes are each 8 % slower than the one before, the claims
// that say so hold, and their opposites do not.
func TestClaimsOfSyntheticRun(t *testing.T) {
	shape := synthetic.Standard()
	run := shape.Run()
	s := study.Study{Margin: 0.05, Profile: study.Standard}
	var order study.Names
	for _, m := range run.Modes {
		s.Modes, order = append(s.Modes, study.Mode{Mode: m.ID}), append(order, m.ID)
	}
	for _, w := range synthetic.Workloads() {
		s.Workloads = append(s.Workloads, study.Workload{Kind: w})
	}
	reversed := slices.Clone(order)
	slices.Reverse(reversed)
	want := []result.ClaimOutcome{result.ClaimHolds, result.ClaimDoesNotHold, result.ClaimHolds, result.ClaimDoesNotHold, result.ClaimHolds}
	for i, c := range []study.Claim{
		claim("order", "goodput", "tcp_stream", order...), claim("order", "goodput", "tcp_stream", reversed...),
		claim("between 0.66 and 0.76", "transaction_rate", "tcp_rr", order[4], order[0]), // 0.92^4 is 0.716
		claim("same", "transaction_rate", "tcp_rr", order[4], order[0]), claim("higher", "rtt_p50", "tcp_rr", order[2], order[0]),
	} {
		c.ID = fmt.Sprint(i)
		s.Claims = append(s.Claims, c)
	}
	trials := slices.Collect(shape.Each())
	for i, got := range analysis.Evaluate(run, analysis.Evidence{Study: s, Trials: trials, Lab: true}).Claims {
		must.True(t, got.Outcome == want[i], "%s of %v: %s: %s; want %s", got.HoldsIf, got.Of, got.Outcome, got.Reason, want[i])
	}
	// Killed after 5 of 12 blocks, it has the same claims with what there is.
	early := slices.DeleteFunc(trials, func(t result.Trial) bool { return t.Block > 5 })
	killed := analysis.Evaluate(run, analysis.Evidence{Study: s, Trials: early, Lab: true}).Claims
	must.True(t, len(killed) == len(want) && killed[3].N == 5 && killed[3].Outcome == result.ClaimDoesNotHold, "after 5 blocks: %+v", killed)
}

// A claim that one value is lower than another, with no difference, holds by chance in at most 2.5 % of
// runs, and a family of such claims has one in at most 5 %; a real difference is found.
func TestClaimsUnderNoDifference(t *testing.T) {
	const runs, several = 1500, 6
	r := rand.New(rand.NewPCG(11, 2))
	modes := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "a", Status: result.ModeMeasured, Baseline: "host"}}
	metrics := []string{"goodput", "rtt_p50", "rtt_p90", "rtt_p99", "loss_ratio", "cpu_cost"}
	family := study.Study{Margin: 0.05, Modes: []study.Mode{{Mode: "host"}, {Mode: "a"}}, Workloads: []study.Workload{{ID: "tcp", Kind: "tcp_stream"}}}
	for i, m := range metrics[:several] {
		family.Claims = append(family.Claims, study.Claim{ID: fmt.Sprint(i), Of: study.Names{"a", "host"}, Metric: m, HoldsIf: "lower"})
	}
	alone := family
	alone.Claims = family.Claims[:1]
	var single, any, decided, found int
	outcomes := func(s study.Study, trials []result.Trial) (holds, all int) {
		in := verdict.Input{Modes: modes, Workloads: []string{"tcp"}, Trials: trials, Rule: verdict.Rule{Margin: 0.05}}
		for _, c := range claims.Evaluate(in, s, result.Run{Modes: modes}) {
			if c.Outcome == result.ClaimHolds {
				holds++
			}
			if c.Outcome != result.ClaimCannotTell {
				all++
			}
		}
		return holds, all
	}
	for range runs {
		var trials, apart []result.Trial
		for block := range 6 {
			level := math.Exp(0.3 * r.NormFloat64()) // of the block
			for _, m := range modes {
				values, lower := map[string]float64{}, map[string]float64{}
				for _, name := range metrics {
					values[name] = level * math.Exp(0.05*r.NormFloat64())
				}
				lower["goodput"] = values["goodput"]
				if m.ID == "a" {
					lower["goodput"] /= 3
				}
				trial := result.Trial{Block: block + 1, Mode: m.ID, Workload: "tcp", Status: result.TrialOK, Metrics: values}
				trials = append(trials, trial)
				trial.Metrics = lower
				apart = append(apart, trial)
			}
		}
		holds, all := outcomes(alone, trials)
		single += holds
		decided += all
		if _, all := outcomes(family, trials); all > 0 {
			any++
		}
		holds, _ = outcomes(alone, apart)
		found += holds
	}
	// The standard error of 5 % in 1500 is 0.6 %.
	share := float64(single) / runs
	must.True(t, share <= 0.04, "without a difference, lower holds in %.3f of runs", share)
	if share := float64(decided) / runs; share > 0.07 || share < 0.03 {
		t.Errorf("without a difference, one claim is decided in %.3f of runs; want about 0.05", share)
	}
	if share := float64(any) / runs; share > 0.07 || share < 0.02 {
		t.Errorf("without a difference, one of %d claims is decided in %.3f of runs; want at most about 0.05", several, share)
	}
	must.EqualFor(t, "runs in which a third of the other's value is found lower", runs, found)
}

// A claim that two are the same does not hold by chance where the true ratio is on the margin.
func TestSameOnTheMargin(t *testing.T) {
	const runs = 1500
	r := rand.New(rand.NewPCG(3, 5))
	s := claimStudy(claim("same", "goodput", "tcp", "a", "host"))
	in := verdict.Input{Modes: claimModes, Rule: verdict.Rule{Margin: 0.05}}
	var same, other int
	for range runs {
		in.Trials = slices.Concat(series(r, 8, "host", "tcp", "goodput", 100, 0.03), series(r, 8, "a", "tcp", "goodput", 105, 0.03))
		switch claims.Evaluate(in, s, result.Run{Modes: claimModes})[0].Outcome {
		case result.ClaimHolds:
			same++
		case result.ClaimDoesNotHold:
			other++
		}
	}
	if a, b := float64(same)/runs, float64(other)/runs; a > 0.07 || a < 0.03 || b > 0.04 || b < 0.01 {
		t.Errorf("on the margin, same holds in %.3f of runs and does not in %.3f; want about 0.05 and 0.025", a, b)
	}
}

// What cannot be told says why, and how many blocks would be needed where that is known.
func TestClaimCannotTell(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	values := func(mode string, values ...float64) (out []result.Trial) {
		for i, v := range values {
			out = append(out, result.Trial{Block: i + 1, Mode: mode, Workload: "tcp", Status: result.TrialOK, Metrics: map[string]float64{"goodput": v}})
		}
		return out
	}
	host := values("host", 100, 100, 100, 100, 100)
	wide := slices.Concat(host, values("a", 80, 120, 95, 125, 90))
	invalid := slices.Concat(host, values("a", 300, 301, 299, 300, 300), values("b", 1, 1, 1, 1, 1))
	for i := range invalid {
		if invalid[i].Mode == "b" {
			invalid[i].Status = result.TrialInvalid
		}
	}
	for _, tt := range []struct {
		name   string
		c      study.Claim
		trials []result.Trial
		reason string
		needed bool
	}{
		{"one block", claim("lower", "goodput", "tcp", "a", "host"), slices.Concat(values("host", 9), values("a", 3)), "1 block, and no outcome is possible with fewer than 3", false},
		{"two blocks", claim("below 5", "goodput", "tcp", "a"), values("a", 1, 1), "2 blocks, and no outcome", false},
		{"no block has both", claim("lower", "goodput", "tcp", "a", "host"), slices.Concat(values("host", 9, 9, 9), values("a", 0, 0, 0, 3, 3, 3)[3:]), "0 blocks", false},
		{"too wide", claim("same", "goodput", "tcp", "a", "host"), wide, "it is not shown whether the ratio is 1 within the margin of 5 %", true},
		{"a tie", claim("order", "goodput", "tcp", "a", "host"), wide, "neither a before host nor the opposite is shown", false},
		{"a tie of equals", claim("order", "goodput", "tcp", "a", "host"), slices.Concat(host, values("a", 101, 99, 100, 100.5, 99.6)),
			"no difference is shown, and the two are the same within the margin of 5 %", false},
		{"a difference about the margin", claim("same", "goodput", "tcp", "a", "host"), slices.Concat(host, values("a", 93, 94, 96, 95, 94)),
			"a difference is shown, but not whether it exceeds the margin of 5 %", true},
		{"noisy", claim("lower", "goodput", "tcp", "host", "a"), invalid, "5 of 15 trials are invalid, more than 20 %: no verdict is possible", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "no block has both" {
				for i := range tt.trials[3:] {
					tt.trials[3+i].Block = 4 + i
				}
			}
			s := claimStudy(tt.c)
			got := evaluate(s, result.Run{}, tt.trials)[0]
			must.Require(t, got.Outcome == result.ClaimCannotTell && strings.Contains(got.Reason, tt.reason) && (got.BlocksNeeded != nil) == tt.needed,
				"%s: %s (blocks needed: %v); want %s", got.Outcome, got.Reason, got.BlocksNeeded, tt.reason)
			if tt.needed && *got.BlocksNeeded < 1 {
				t.Errorf("%d more blocks are needed", *got.BlocksNeeded)
			}
		})
	}
	// With about as many more blocks of the same kind, it can be told.
	few := slices.Concat(series(r, 6, "host", "tcp", "goodput", 100, 0.1), series(r, 6, "a", "tcp", "goodput", 92, 0.1))
	s := claimStudy(claim("lower", "goodput", "tcp", "a", "host"))
	first := evaluate(s, result.Run{}, few)[0]
	must.Require(t, first.BlocksNeeded != nil && first.N == 6, "%+v", first)
	many := slices.Clone(few)
	for n := 1; n*6 < 6+*first.BlocksNeeded; n++ {
		for _, trial := range few {
			trial.Block += 6 * n
			many = append(many, trial)
		}
	}
	if again := evaluate(s, result.Run{}, many)[0]; again.Outcome == result.ClaimCannotTell {
		t.Errorf("needs %d more of 6 blocks, and with %d: %s", *first.BlocksNeeded, len(many)/2, again.Reason)
	}
}

// A generator that could not keep its schedule supports only what is true for every faster one.
func TestClaimWithLowerBounds(t *testing.T) {
	slow := 0.1
	limited := func(trials []result.Trial) []result.Trial {
		for i := range trials {
			trials[i].GeneratorLimited = &slow
		}
		return trials
	}
	r := rand.New(rand.NewPCG(5, 6))
	fast := func(mode string, v float64) []result.Trial { return series(r, 6, mode, "tcp", "goodput", v, 0.005) }
	for _, tt := range []struct {
		name   string
		c      study.Claim
		trials []result.Trial
		want   result.ClaimOutcome
	}{
		{"above", claim("above 80", "goodput", "tcp", "a"), limited(fast("a", 100)), result.ClaimHolds},
		{"below", claim("below 120", "goodput", "tcp", "a"), limited(fast("a", 100)), result.ClaimCannotTell},
		{"not above", claim("above 120", "goodput", "tcp", "a"), limited(fast("a", 100)), result.ClaimCannotTell},
		{"same", claim("same", "goodput", "tcp", "a", "host"), limited(slices.Concat(fast("a", 100), fast("host", 100))), result.ClaimCannotTell},
		{"lower, by the same sender", claim("lower", "goodput", "tcp", "a", "host"), limited(slices.Concat(fast("a", 50), fast("host", 100))), result.ClaimHolds},
		{"not same, by the same sender", claim("same", "goodput", "tcp", "a", "host"), limited(slices.Concat(fast("a", 50), fast("host", 100))), result.ClaimDoesNotHold},
		{"at least this low", claim("below 0.6", "goodput", "tcp", "a", "host"), limited(slices.Concat(fast("a", 50), fast("host", 100))), result.ClaimHolds},
		{"perhaps lower", claim("above 0.4", "goodput", "tcp", "a", "host"), limited(slices.Concat(fast("a", 50), fast("host", 100))), result.ClaimCannotTell},
	} {
		got := evaluate(claimStudy(tt.c), result.Run{}, tt.trials)[0]
		must.True(t, got.Outcome == tt.want && slices.ContainsFunc(got.Differs, func(d string) bool { return strings.HasPrefix(d, "the generator limited a in tcp") }),
			"%s: %+v", tt.name, got)
		must.True(t, got.Outcome != result.ClaimCannotTell || got.BlocksNeeded == nil && strings.Contains(got.Reason, "lower bound"),
			"%s: %s (%v blocks)", tt.name, got.Reason, got.BlocksNeeded)
	}
}

// A loss at a rate that the generator did not offer may be higher at that rate.
func TestClaimAboutLossAtLoadThatWasNotOffered(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	for _, tt := range []struct {
		offered   float64
		condition string
		want      result.ClaimOutcome
	}{
		{896e6, "below 1% from 896Mbit/s", result.ClaimHolds},
		{700e6, "below 1% from 896Mbit/s", result.ClaimCannotTell},
		{700e6, "above 0.1% from 896Mbit/s", result.ClaimHolds},
		{700e6, "above 1% from 896Mbit/s", result.ClaimCannotTell},
	} {
		trials := series(r, 6, "a", "curve@896Mbit/s", "loss_ratio", 0.005, 0.05)
		for i := range trials {
			trials[i].Metrics["offered_load"] = tt.offered
		}
		got := evaluate(claimStudy(claim(tt.condition, "loss_ratio", "curve", "a")), result.Run{}, trials)[0]
		must.EqualFor(t, fmt.Sprintf("%g offered, %s: %+v", tt.offered, tt.condition, got), []any{tt.want, tt.offered < 800e6}, []any{got.Outcome, strings.Contains(strings.Join(got.Differs, ""), "the generator limited a")})
	}
}

// Beside the published value are ours with its interval, and why they may differ.
func TestClaimBesidePublished(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	const full = 1e9 * 1448 / 1514
	var trials []result.Trial
	for _, m := range []string{"host", "a"} {
		of := series(r, 6, m, "tcp", "goodput", 0.99*full, 0.001)
		for i := range of {
			of[i].Client = &result.End{MSS: 1448}
		}
		trials = append(trials, of...)
	}
	c := claim("same", "goodput", "", "B", "A")
	c.Source, c.Published, c.Differs = "EC2 c4.xlarge, 2016", "0.992 (0.97-1.01)", "a NIC of 1 Gbit/s"
	s := claimStudy(c)
	s.Profile, s.Lab = study.Quick, study.Lab{Rate: 1e9, MTU: 1500}
	s.Workloads[0].WriteSize = 128 << 10
	run := result.Run{Hosts: []result.Host{{Name: "a", Facts: []result.Fact{{Name: "kernel", Value: "6.18.44"}}}, {Name: "b", Facts: []result.Fact{{Name: "kernel", Value: "6.18.44"}}}}}
	got := evaluate(s, run, trials)[0]
	must.True(t, got.Outcome == result.ClaimHolds && got.Value != nil && got.CI != nil && got.N == 6 && got.Indicative && got.Unit == "", "%+v", got)
	must.True(t, got.PublishedValue != nil && *got.PublishedValue == 0.992 && got.PublishedCI != nil && *got.PublishedCI == (result.Interval{0.97, 1.01}),
		"published %v %v", got.PublishedValue, got.PublishedCI)
	want := []string{"a NIC of 1 Gbit/s", "the link of 1 Gbit/s limited every mode in tcp, which hides a difference", "kernel 6.18.44 here; the claim is of 2016",
		"the profile is quick, so that values are indicative"}
	must.Equal(t, want, got.Differs)
	s.Claims[0].Of, s.Claims[0].HoldsIf = study.Names{"A"}, "above 900Mbit/s"
	s.Claims[0].Published = "745 Mbit/s"
	if got := evaluate(s, run, trials)[0]; got.Unit != "bit/s" || *got.PublishedValue != 745e6 || got.Outcome != result.ClaimHolds {
		t.Errorf("%+v", got)
	}
}
