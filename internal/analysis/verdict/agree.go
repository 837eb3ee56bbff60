package verdict

import (
	"math"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/warning"
)

// Verified names a workload, its copy with a second traffic generator, and the generator.
type Verified struct{ Workload, Twin, Tool string }

// Agreements compares the ratios to the baseline by both traffic generators, for each
// measured mode that has one, in the main metric of the workload. Each that differs has the
// warning tools_disagree.
func Agreements(modes []result.Mode, verified []Verified, trials []result.Trial, rule Rule) ([]result.Agreement, []result.Warning) {
	var names []string
	for _, v := range verified {
		names = append(names, v.Workload, v.Twin)
	}
	tab := readings.Tabulate(modes, names, trials)
	var out []result.Agreement
	var warnings []result.Warning
	for _, v := range verified {
		for _, m := range modes {
			if m.Status != result.ModeMeasured || m.Baseline == "" {
				continue
			}
			for _, metric := range result.Metrics() {
				own, second := costRatios(tab, m, v.Workload, metric.Name), costRatios(tab, m, v.Twin, metric.Name)
				if !metric.Primary || len(own) == 0 && len(second) == 0 {
					continue
				}
				a := result.Agreement{Workload: v.Workload, Twin: v.Twin, Tool: v.Tool, Mode: m.ID, Metric: metric.Name, Agree: result.AgreeCannotTell}
				judgeAgreement(&a, own, second, rule)
				out = append(out, a)
				if a.Agree == result.AgreeNo {
					warnings = append(warnings, toolsDisagree(a))
				}
			}
		}
	}
	return out, warnings
}

// costRatios are the ratios of a mode to its baseline, one for each block.
func costRatios(t readings.Columns, m result.Mode, workload, metric string) []readings.Reading {
	var out []readings.Reading
	for _, r := range readings.Ratios(t.Values(m.ID, workload, metric), t.Values(m.Baseline, workload, metric)) {
		if r.Value > 0 && readings.Finite(r.Value) {
			out = append(out, r)
		}
	}
	return out
}

func judgeAgreement(a *result.Agreement, own, second []readings.Reading, rule Rule) {
	l, ok := LogRatio(own, second, PairBlocks)
	if !ok {
		return
	}
	a.N, a.Ratio = l.N, Known(l.Ratio())
	lo, hi, ok := l.Interval(0.95)
	if !ok || !readings.Finite(lo) || !readings.Finite(hi) {
		return
	}
	a.RatioCI = &result.Interval{lo, hi}
	switch {
	case rule.NoisyOf(a.Workload, a.Twin) != "":
	case lo >= 1/(1+rule.Margin) && hi <= 1+rule.Margin:
		a.Agree = result.AgreeYes
	case (lo > 1 || hi < 1) && math.Abs(l.Mean) > math.Log1p(rule.Margin):
		a.Agree = result.AgreeNo
	}
}

func toolsDisagree(a result.Agreement) result.Warning {
	return warning.New(warning.ToolsDisagree, readings.Scope(a.Mode, a.Workload, a.Metric),
		"the two traffic generators disagree: the ratio to the baseline is %.3g times that by %s, so one of them measures "+
			"a limit of its own. Compare their settings and their CPU use.", *a.Ratio, a.Tool)
}
