package verdict_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/analysis/verdict"

	"tare/internal/analysis/changes"
	"tare/internal/analysis/parts"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// sessionOf is a session of the host and a mode whose level changes with each set-up. hosts and modes are the set-ups of
// each block.
func sessionOf(hosts, modes []int) []result.Trial {
	var out []result.Trial
	for i := range modes {
		b := i + 1
		wave := math.Sin(float64(3 * b))
		of := func(mode string, setup int, rate float64) result.Trial {
			return result.Trial{Block: b, Mode: mode, Workload: "rr", Setup: setup, Status: result.TrialOK, Metrics: map[string]float64{"transaction_rate": rate}}
		}
		out = append(out, of("host", hosts[i], 1e5*(1+0.001*wave)), of("mode0", modes[i], 8e4*(1+0.03*float64((modes[i]*7)%5-2))))
	}
	return out
}

func cellOf(t *testing.T, trials []result.Trial) result.Cell {
	t.Helper()
	cells, _ := verdict.Cells(verdict.Alike(1), []string{"rr"}, trials, verdict.Rule{Margin: 0.05})
	i := slices.IndexFunc(cells, func(c result.Cell) bool { return c.Mode == "mode0" && c.Metric == "transaction_rate" })
	must.Require(t, i >= 0, "no cell of the mode: %+v", cells)
	return cells[i]
}

func width(c result.Cell) float64 { return math.Log(c.RatioCI[1] / c.RatioCI[0]) }

// Blocks that share a set-up are no replicates: the interval is that of the set-ups.
func TestSetupsAreTheReplicates(t *testing.T) {
	each, threes := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, []int{1, 1, 1, 2, 2, 2, 3, 3, 3}
	whole := cellOf(t, sessionOf(each, threes))
	must.Equal(t, 9, whole.N)
	must.Equal(t, 3, whole.Setups)
	must.True(t, math.Abs(whole.DF-2) <= 1e-9, "the interval of three equal set-ups has %v degrees of freedom, not 2", whole.DF)

	unknown := sessionOf(each, threes)
	for i := range unknown {
		unknown[i].Setup = 0
	}
	old := cellOf(t, unknown)
	must.Equal(t, 0, old.Setups)
	must.Equal(t, *whole.Ratio, *old.Ratio)
	must.True(t, width(whole) >= 2*width(old), "the interval of three set-ups is %v, that of nine blocks %v", whole.RatioCI, old.RatioCI)
	must.True(t, math.Log(whole.CI[1]/whole.CI[0]) >= 2*math.Log(old.CI[1]/old.CI[0]), "the interval of the value is %v, that of nine blocks %v", whole.CI, old.CI)
	if added, was := whole.Added, old.Added; added != nil && was != nil && added.CI[1]-added.CI[0] < 2*(was.CI[1]-was.CI[0]) {
		t.Errorf("the interval of the added time is %v, that of nine blocks %v", added.CI, was.CI)
	}

	must.Equal(t, 0, cellOf(t, sessionOf(each, each)).Setups)
	must.EqualFor(t, "set-ups of a baseline that is made more seldom", 3, cellOf(t, sessionOf(threes, each)).Setups)
	must.EqualFor(t, "set-ups that overlap", 2, cellOf(t, sessionOf([]int{1, 1, 2, 2, 3, 3, 4, 4, 4}, []int{1, 1, 1, 1, 2, 2, 2, 2, 2})).Setups)
	one := cellOf(t, sessionOf(each, slices.Repeat([]int{1}, 9)))
	must.EqualFor(t, "a mode that was made once", []any{1, true, false}, []any{one.Setups, one.Indicative, whole.Indicative})
	// A block that was repeated at the end of a session belongs to the set-up of that time.
	must.EqualFor(t, "a block that was repeated later", 3, cellOf(t, sessionOf(each, []int{1, 3, 1, 2, 2, 2, 3, 3, 3})).Setups)
}

// Two modes that are Alike but for what each set-up draws are called different in 5 % of sessions, not in a third.
func TestSetupsOfIdenticalModes(t *testing.T) {
	const sessions = 2000
	differ := 0
	for seed := range sessions {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		var trials []result.Trial
		var level float64
		for b := 1; b <= 10; b++ {
			if b%2 == 1 {
				level = 0.03 * rng.NormFloat64()
			}
			host := math.Exp(0.05 * rng.NormFloat64())
			trials = append(trials,
				result.Trial{Block: b, Mode: "host", Workload: "rr", Setup: b, Status: result.TrialOK, Metrics: map[string]float64{"transaction_rate": 1e5 * host}},
				result.Trial{Block: b, Mode: "mode0", Workload: "rr", Setup: (b + 1) / 2, Status: result.TrialOK,
					Metrics: map[string]float64{"transaction_rate": 1e5 * host * math.Exp(level+0.01*rng.NormFloat64())}})
		}
		if c := cellOf(t, trials); c.RatioCI[0] > 1 || c.RatioCI[1] < 1 {
			differ++
		}
	}
	share := float64(differ) / sessions
	must.True(t, share >= 0.03 && share <= 0.065, "%.3f of the intervals exclude the truth, want 0.05", share)
}

// Comparisons that a study asks for, the steps of a cost by parts, the width by which a run stops, and changes between runs have the
// interval of the set-ups as cells have: from three set-ups of nine blocks far wider than from nine.
func TestSetupsInEveryInterval(t *testing.T) {
	each, threes := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, []int{1, 1, 1, 2, 2, 2, 3, 3, 3}
	log := func(ci *result.Interval) float64 {
		must.Require(t, ci != nil, "no interval")
		return math.Log(ci[1] / ci[0])
	}
	widths := func(trials []result.Trial) map[string]float64 {
		in := verdict.Input{Modes: verdict.Alike(1), Workloads: []string{"rr"}, Trials: trials, Rule: verdict.Rule{Margin: 0.05}, Serial: []string{"rr"}}
		out := map[string]float64{}
		for _, c := range verdict.Comparisons(in, nil, []verdict.ComparisonRequest{{ID: "x", A: []string{"mode0"}, B: []string{"host"}}}) {
			out["comparison"] = log(c.RatioCI)
		}
		costByParts := parts.Evaluate(in, &study.CostByParts{Of: "mode0", Modes: []study.PartMode{{Mode: "host"}, {Mode: "mode0", Part: "p"}}}, nil)
		step := costByParts.Costs[0].Steps[0]
		out["step of a ladder"], out["time of a step"] = log(step.RatioCI), step.Cost.CI[1]-step.Cost.CI[0]
		for _, r := range verdict.Ratios(in) {
			lo, hi, _ := r.Ratio.Interval(0.95)
			out["stopping"] = log(&result.Interval{lo, hi})
		}
		cells, _ := verdict.Judge(in)
		run := changes.RunTrials{Run: result.Run{Modes: in.Modes, Cells: cells}, Trials: trials}
		for _, c := range changes.Across(run, run, nil, 0.05).Cells {
			if c.Mode == "mode0" {
				out["change"] = log(c.RatioCI)
			}
		}
		return out
	}
	shared := sessionOf(each, threes)
	alone := slices.Clone(shared)
	for i := range alone {
		alone[i].Setup = 0
	}
	got, plain := widths(shared), widths(alone)
	must.Equal(t, 5, len(got))
	for what, w := range got {
		must.True(t, w >= 1.5*plain[what] && plain[what] > 0, "%s: %g with set-ups, %g without", what, w, plain[what])
	}
}
