package analysis

import (
	"math"

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
	tab := tabulate(modes, names, trials)
	var out []result.Agreement
	var warnings []result.Warning
	for _, v := range verified {
		for _, m := range modes {
			if m.Status != result.ModeMeasured || m.Baseline == "" {
				continue
			}
			for _, metric := range result.Metrics() {
				own, second := tab.costs(m, v.Workload, metric.Name), tab.costs(m, v.Twin, metric.Name)
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

// costs are the ratios of a mode to its baseline, one for each block.
func (t table) costs(m result.Mode, workload, metric string) []reading {
	var out []reading
	for _, r := range ratios(t.values(m.ID, workload, metric), t.values(m.Baseline, workload, metric)) {
		if r.value > 0 && finite(r.value) {
			out = append(out, r)
		}
	}
	return out
}

func judgeAgreement(a *result.Agreement, own, second []reading, rule Rule) {
	l, ok := logRatio(own, second, PairBlocks)
	if !ok {
		return
	}
	a.N, a.Ratio = l.N, known(l.Ratio())
	lo, hi, ok := l.Interval(0.95)
	if !ok || !finite(lo) || !finite(hi) {
		return
	}
	a.RatioCI = &result.Interval{lo, hi}
	switch {
	case rule.noisy(a.Workload, a.Twin) != "":
	case lo >= 1/(1+rule.Margin) && hi <= 1+rule.Margin:
		a.Agree = result.AgreeYes
	case (lo > 1 || hi < 1) && math.Abs(l.Mean) > math.Log1p(rule.Margin):
		a.Agree = result.AgreeNo
	}
}

func toolsDisagree(a result.Agreement) result.Warning {
	return warning.New(warning.ToolsDisagree, scope(a.Mode, a.Workload, a.Metric),
		"the two traffic generators disagree: the ratio to the baseline is %.3g times that by %s, so one of them measures "+
			"a limit of its own. Compare their settings and their CPU use.", *a.Ratio, a.Tool)
}
