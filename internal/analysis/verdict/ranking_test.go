package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/store"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

// ranked evaluates trials of a workload named stream.
func ranked(modes []result.Mode, trials []result.Trial, rule Rule) []result.Ranking {
	var out []result.Ranking
	JudgeEach(Input{Modes: modes, Workloads: []string{"stream"}, Trials: trials, Rule: rule}, func(f Family) { out = append(out, f.Rankings()...) })
	return out
}

// named are measured modes without a baseline.
func named(ids ...string) []result.Mode {
	var out []result.Mode
	for _, id := range ids {
		out = append(out, result.Mode{ID: id, Status: result.ModeMeasured})
	}
	return out
}

// inOrder are the modes of a ranking in order, each with its letters.
func inOrder(r result.Ranking) (out []string) {
	for _, m := range r.Modes {
		out = append(out, m.Mode+" "+m.Letters)
	}
	return out
}

// R's data PlantGrowth, as logarithms. pairwise.t.test(pool.sd = FALSE, p.adjust.method =
// "holm") has p of 0.028 for trt1 and trt2, 0.096 for ctrl and trt2, 0.250 for ctrl and trt1:
// the two that differ both tie with the third.
func TestRankingKnownAnswer(t *testing.T) {
	var trials []result.Trial
	for mode, values := range map[string][]float64{
		"ctrl": {4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14},
		"trt1": {4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69},
		"trt2": {6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26},
	} {
		for i, v := range values {
			trials = append(trials, blocks.Row(i+1, mode, "goodput", math.Exp(v)))
		}
	}
	got := ranked(named("ctrl", "trt1", "trt2"), trials, Rule{Margin: 0.05, Pairing: PairNone})
	must.Require(t, len(got) == 1, "%+v", got)
	must.Equal(t, []string{"trt2 a", "ctrl ab", "trt1 b"}, inOrder(got[0]))
	if m := got[0].Modes[1]; got[0].Pairs != 3 || got[0].Apart != 1 || m.N != 10 || math.Abs(*m.Value/math.Exp(5.032)-1) > 1e-9 || m.CI == nil ||
		math.Abs(*m.Median-(math.Exp(5.14)+math.Exp(5.17))/2) > 1e-9 {
		t.Errorf("%+v, the mode %+v", got[0], m)
	}
}

// Modes are compared within blocks, those with one baseline with each other, in the
// direction of the metric; the baseline and its control have no letters.
func TestRankingIsPairedAndByBaseline(t *testing.T) {
	modes := append(named("host", "local"), result.Mode{ID: "control", Status: result.ModeMeasured, Baseline: "host", Control: true})
	level := map[string]float64{"host": 100, "local": 300, "control": 100}
	for base, ids := range map[string][]string{"host": {"a", "b", "c"}, "local": {"x", "y"}} {
		for i, id := range ids {
			modes = append(modes, result.Mode{ID: id, Status: result.ModeMeasured, Baseline: base})
			level[id] = []float64{80, 82, 90}[i]
		}
	}
	var trials []result.Trial
	for b, load := range []float64{1, 1.9, 0.6, 1.4, 0.9} { // which hides every difference without blocks
		for i, m := range modes {
			trials = append(trials, blocks.Row(b+1, m.ID, "rtt_p50", level[m.ID]*load*(1+0.001*float64((b*(i+2))%3))))
		}
	}
	got := ranked(modes, trials, Rule{Margin: 0.05})
	must.Require(t, len(got) == 1 && got[0].Baseline == "host" && got[0].Metric == "rtt_p50" && got[0].Better == result.Lower, "%+v", got)
	must.Equal(t, []string{"a a", "b b", "c c"}, inOrder(got[0]))
	loose := ranked(modes, trials, Rule{Margin: 0.05, Pairing: PairNone})
	must.Equal(t, []string{"a a", "b a", "c a"}, inOrder(loose[0]))
	must.EqualFor(t, "of a noisy run", []result.Ranking(nil), ranked(modes, trials, Rule{Margin: 0.05, Noisy: "half of the trials are invalid"}))
}

// A mode with too little data is in no ranking, with the reason: lack of trials is no tie.
func TestRankingLeavesOut(t *testing.T) {
	full := blocks.Join(blocks.Rows("a", "goodput", 100, 101, 99, 100), blocks.Rows("b", "goodput", 90, 91, 89, 90), blocks.Rows("c", "goodput", 80, 81, 79, 80))
	for name, c := range map[string]struct {
		trials []result.Trial
		rule   Rule
		why    string
	}{
		"one value":    {blocks.Rows("late", "goodput", 95), Rule{}, "1 value, which shows no spread"},
		"two values":   {blocks.Rows("late", "goodput", 95, 96), Rule{}, "2 values, fewer than 3"},
		"a zero":       {blocks.Rows("late", "goodput", 95, 0, 96), Rule{}, "a value of 0, which has no ratio"},
		"other blocks": {[]result.Trial{blocks.Row(3, "late", "goodput", 1), blocks.Row(4, "late", "goodput", 1), blocks.Row(5, "late", "goodput", 1)}, Rule{}, "fewer than 3 blocks in common with another mode"},
		"a huge ratio": {blocks.Rows("late", "goodput", 1e-300, 1e-300, 1e-300), Rule{Pairing: PairNone}, ""},
	} {
		got := ranked(named("a", "late", "b", "c"), blocks.Join(full, c.trials), c.rule)
		must.Require(t, len(got) == 1, "%s: %+v", name, got)
		want := []result.Unranked{{Mode: "late", Reason: c.why}}
		if c.why == "" { // a ratio of 1e302 is finite
			want = nil
		}
		must.EqualFor(t, name, want, got[0].Unranked)
		must.EqualFor(t, name, []string{"a a", "b b", "c c"}, inOrder(got[0])[:3])
	}
	// Two groups of blocks: one of them stays, as large as it can be.
	var late []result.Trial
	for b := 5; b < 9; b++ {
		late = append(late, blocks.Row(b, "x", "goodput", 100), blocks.Row(b, "y", "goodput", 90))
	}
	got := ranked(named("x", "a", "b", "y", "c"), blocks.Join(full, late), Rule{})
	must.Equal(t, []string{"a a", "b b", "c c"}, inOrder(got[0]))
	must.Equal(t, 2, len(got[0].Unranked))
}

// Without enough data of three modes there is no order, and two modes are no ranking.
func TestNoRanking(t *testing.T) {
	for name, c := range map[string]struct {
		trials []result.Trial
		want   string
	}{
		"one value each":  {blocks.Join(blocks.Rows("a", "goodput", 3), blocks.Rows("b", "goodput", 2), blocks.Rows("c", "goodput", 1)), "each of the 3 modes has 1 value, which shows no spread"},
		"two values each": {blocks.Join(blocks.Rows("a", "goodput", 3, 3), blocks.Rows("b", "goodput", 2, 2), blocks.Rows("c", "goodput", 1, 1)), "each of the 3 modes has 2 values, fewer than 3"},
		"zeros":           {blocks.Join(blocks.Rows("a", "retransmits", 0, 3, 3), blocks.Rows("b", "retransmits", 2, 0, 2), blocks.Rows("c", "retransmits", 0, 0, 0)), "each of the 3 modes has a value of 0, which has no ratio"},
		"lack of each":    {blocks.Join(blocks.Rows("a", "goodput", 3, 3), blocks.Rows("b", "goodput", 2, 2, 0), blocks.Rows("c", "goodput", 1)), "fewer than 3 of the 3 modes can be compared with each other"},
		"two modes":       {blocks.Join(blocks.Rows("a", "goodput", 3, 3, 3), blocks.Rows("b", "goodput", 2, 2, 2)), ""},
		"a maximum":       {blocks.Join(blocks.Rows("a", "rtt_max", 3, 3, 3), blocks.Rows("b", "rtt_max", 2, 2, 2), blocks.Rows("c", "rtt_max", 1, 1, 1)), ""},
	} {
		for _, pairing := range []Pairing{PairBlocks, PairNone} {
			got := ranked(named("a", "b", "c"), c.trials, Rule{Pairing: pairing})
			if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || got[0].Reason != c.want || len(got[0].Modes) != 0 || got[0].Pairs != 0 || len(got[0].Unranked) != 3) {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

// With more modes than can be compared with each other there is a reason and no work.
func TestRankingIsBounded(t *testing.T) {
	const most = mostRanked
	for _, n := range []int{most, most + 1, 3000} {
		modes := Alike(n)
		var trials []result.Trial
		for b := 1; b <= 3; b++ {
			for i, m := range modes {
				trials = append(trials, blocks.Row(b, m.ID, "goodput", 1e9+float64((i*37+b*61)%997)*1e5))
			}
		}
		got := ranked(modes, trials, Rule{Margin: 0.05})
		must.Require(t, len(got) == 1, "%d modes: %d rankings", n, len(got))
		if r := got[0]; n <= most && (r.Reason != "" || r.Pairs != most*(most-1)/2 || len(r.Modes) != most) ||
			n > most && (r.Reason != fmt.Sprintf("%d modes are too many to compare each with each other: at most %d are", n, most) || len(r.Modes)+len(r.Unranked) > 0) {
			t.Errorf("%d modes: %q, %d pairs, %d modes", n, r.Reason, r.Pairs, len(r.Modes))
		}
	}
}

// Letters and tests agree: two modes of a session have one in common if and only if Holm's p
// of their pair is 0.05 or more. With a spread of their own, modes are in no simple order, and
// there are letters enough all the same.
func TestLettersAgreeWithTests(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for session := range 40 {
		n := 3 + session
		modes := Alike(n)
		var trials []result.Trial
		values := map[string][]float64{}
		for i, m := range modes {
			for b := 1; b <= 5; b++ {
				v := 1e9 * math.Exp(0.02*float64(i%7)+0.04*float64(i%3)*rng.NormFloat64()+0.01*rng.NormFloat64())
				values[m.ID] = append(values[m.ID], v)
				trials = append(trials, blocks.Row(b, m.ID, "goodput", v))
			}
		}
		r := ranked(modes, trials, Rule{Margin: 0.05})[0]
		var ps []float64
		var shared []bool
		for i, a := range r.Modes {
			for _, b := range r.Modes[:i] {
				l := must.Get(stats.Paired(values[a.Mode], values[b.Mode]))(t)
				ps, shared = append(ps, l.P()), append(shared, strings.ContainsAny(a.Letters, b.Letters))
			}
		}
		must.Require(t, r.Pairs == len(ps) && len(ps) == n*(n-1)/2, "%d modes: %d pairs, %d in the ranking", n, len(ps), r.Pairs)
		apart := 0
		for i, p := range stats.Holm(ps) {
			if p < 0.05 {
				apart++
			}
			must.True(t, shared[i] != (p < 0.05), "%d modes: a pair with p %.4f shares a letter: %t", n, p, shared[i])
		}
		must.True(t, r.Apart == apart && r.Detectable != nil && *r.Detectable > 0, "%d modes: %d pairs apart, want %d; detectable %v", n, r.Apart, apart, r.Detectable)
		must.True(t, slices.IsSortedFunc(r.Modes, func(a, b result.Ranked) int { return int(math.Copysign(1, *b.Value-*a.Value)) }), "not the best first: %+v", r.Modes)
		must.Get(store.EncodeRun(result.Run{Rankings: []result.Ranking{r}}))(t)
	}
}

// The family-wise error: of modes that are Alike, any two are told apart in at most 5 % of
// sessions, whether all are Alike or only some. With 1500 sessions, 3 sigma are 1.7 %.
func TestFalseRankings(t *testing.T) {
	const sessions = 1500
	rng := rand.New(rand.NewPCG(20, 7))
	for _, c := range []struct {
		level  []float64 // of ln x; 0.5 apart is always told apart
		shared float64   // noise of a block, in ln x
		rule   Rule
	}{
		{[]float64{0, 0, 0, 0, 0, 0}, 0.06, Rule{}},
		{[]float64{0, 0, 0, 0, 0, 0}, 0, Rule{Pairing: PairNone}},
		{[]float64{0, 0, 0.5, 0.5, 1, 1}, 0.06, Rule{}},
		{[]float64{0, 0, 0.5, 0.5, 1, 1}, 0, Rule{Pairing: PairNone}},
	} {
		name := fmt.Sprintf("levels %v, pairing %q", c.level, c.rule.Pairing)
		modes := named("0", "1", "2", "3", "4", "5")
		wrong, apart, differing := 0, 0, 0
		for range sessions {
			var trials []result.Trial
			for b := 1; b <= 6; b++ {
				block := c.shared * rng.NormFloat64()
				for i, m := range modes {
					trials = append(trials, blocks.Row(b, m.ID, "goodput", 1e9*math.Exp(c.level[i]+block+0.03*rng.NormFloat64())))
				}
			}
			mistaken := false
			r := ranked(modes, trials, c.rule)[0]
			for i, a := range r.Modes {
				for _, b := range r.Modes[:i] {
					told := !strings.ContainsAny(a.Letters, b.Letters)
					if c.level[a.Mode[0]-'0'] == c.level[b.Mode[0]-'0'] {
						mistaken = mistaken || told
						continue
					}
					differing++
					if told {
						apart++
					}
				}
			}
			if mistaken {
				wrong++
			}
		}
		rate := float64(wrong) / sessions
		t.Logf("%s: a false difference in %.2f %%, %d of %d true ones found", name, 100*rate, apart, differing)
		must.True(t, rate <= 0.067 && rate >= 0.01, "%s: a false difference in %.2f %% of sessions", name, 100*rate)
		must.True(t, float64(apart) >= 0.99*float64(differing), "%s: %d of %d pairs that differ are told apart", name, apart, differing)
	}
}
