package analysis

import (
	"slices"
	"testing"

	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

func trialsOf(workload string, ok, invalid, failed int) (out []result.Trial) {
	for status, n := range map[result.TrialStatus]int{result.TrialOK: ok, result.TrialInvalid: invalid, result.TrialFailed: failed} {
		for range n {
			out = append(out, result.Trial{Workload: workload, Status: status})
		}
	}
	return out
}

func TestNoisy(t *testing.T) {
	for _, tt := range []struct {
		ok, invalid, failed int
		most                quantity.Share
		want                string
	}{
		{0, 0, 0, quantity.ShareOf(0.2), ""},
		{8, 2, 0, quantity.ShareOf(0.2), ""},
		{8, 3, 9, quantity.ShareOf(0.2), "3 of 11 trials are invalid, more than 20 %: no verdict is possible"},
		{0, 4, 0, quantity.ShareOf(0.2), "4 of 4 trials are invalid, more than 20 %: no verdict is possible"},
		{0, 4, 0, quantity.NotApplied(), ""},
		{0, 4, 0, quantity.Share{}, ""},
	} {
		rule := RuleOf(study.Study{Invalid: study.Invalid{Most: tt.most}}, trialsOf("rr", tt.ok, tt.invalid, tt.failed))
		must.EqualFor(t, tt, tt.want, rule.Noisy)
	}
}

// A workload that is too noisy has no verdict and leaves the others theirs; the run is too noisy if every workload is. The
// cost pass counts for nothing, nor does a workload of which every trial failed.
func TestNoisyWorkload(t *testing.T) {
	s := study.Study{Invalid: study.Invalid{Most: quantity.ShareOf(0.2)}}
	quiet, loud := trialsOf("rr", 10, 1, 0), trialsOf("stream", 6, 4, 0)
	why := "4 of 10 trials are invalid, more than 20 %: no verdict is possible"
	for name, tt := range map[string]struct {
		trials []result.Trial
		noisy  string
		in     map[string]string
	}{
		"one":                {slices.Concat(quiet, loud), "", map[string]string{"stream": why}},
		"each":               {loud, why, map[string]string{"stream": why}},
		"beside a cost pass": {slices.Concat(quiet, trialsOf(study.CostPassID, 0, 9, 0)), "", map[string]string{}},
		"beside failures":    {slices.Concat(loud, trialsOf("dns", 0, 0, 9)), why, map[string]string{"stream": why}},
	} {
		rule := RuleOf(s, tt.trials)
		must.EqualFor(t, name, []any{tt.noisy, tt.in}, []any{rule.Noisy, rule.NoisyIn})
	}

	var trials []result.Trial
	for block := range 8 {
		for _, workload := range []string{"rr", "rr16"} {
			for mode, v := range map[string]float64{"host": 100, "veth": 50} {
				trial := result.Trial{Block: block + 1, Mode: mode, Workload: workload, Status: result.TrialOK, Metrics: map[string]float64{"transaction_rate": v + float64(block)/10}}
				if workload == "rr16" && block < 2 {
					trial.Status = result.TrialInvalid
				}
				trials = append(trials, trial)
			}
		}
	}
	in := verdict.Input{Modes: blocks.HostAnd(), Workloads: []string{"rr", "rr16"}, Trials: trials, Rule: RuleOf(s, trials)}
	in.Rule.Margin = 0.05
	verdicts := map[string]result.Verdict{}
	cells, _ := verdict.Judge(in)
	for _, c := range cells {
		if c.Mode == "veth" {
			verdicts[c.Workload] = c.Verdict
		}
	}
	must.Equal(t, map[string]result.Verdict{"rr": result.Worse, "rr16": result.CannotTell}, verdicts)
	compared := verdict.Comparisons(in, []result.Scenario{{ID: "one", Mode: "veth", Workload: "rr"}, {ID: "raw", Mode: "host", Workload: "rr"}, {ID: "many", Mode: "host", Workload: "rr16"}},
		[]verdict.ComparisonRequest{{ID: "quiet", A: []string{"one"}, B: []string{"raw"}}, {ID: "noisy", A: []string{"one"}, B: []string{"many"}}})
	verdicts = map[string]result.Verdict{}
	for _, c := range compared {
		verdicts[c.ID] = c.Verdict
	}
	must.Equal(t, map[string]result.Verdict{"quiet": result.Worse, "noisy": result.CannotTell}, verdicts)
}
