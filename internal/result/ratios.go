package result

import (
	"slices"

	"tare/internal/stats"
)

// Ratio is what one mode and workload come to beside the baseline in the
// workload's primary metric, over the blocks that have both.
type Ratio struct {
	Mode, Workload, Metric string
	stats.LogRatio
}

// Ratios compares measured modes with their baselines, over the blocks up to the
// last: what a run that stops on the width of its intervals looks at. Controls are
// left out, and so is what has no ratio, because a value is 0. A mode and workload
// without a block that has both is in it with N 0 where each has been tried: the
// run cannot be sure of that yet.
//
// Which trials count is as in [Cells].
func Ratios(modes []Mode, workloads []string, trials []Trial, last int) []Ratio {
	type key struct {
		mode, workload string
		block          int
	}
	counted := map[key]Trial{}
	for _, t := range trials {
		if t.Status == TrialOK && !t.Pilot && t.Block <= last {
			counted[key{t.Mode, t.Workload, t.Block}] = t
		}
	}
	var out []Ratio
	for _, w := range workloads {
		for _, m := range modes {
			if m.Status != ModeMeasured || m.Baseline == "" || m.Control || !slices.ContainsFunc(modes, func(b Mode) bool { return b.ID == m.Baseline && b.Status == ModeMeasured }) {
				continue
			}
			for _, metric := range Metrics() {
				if !metric.Primary {
					continue
				}
				var x, b []float64
				seen := false
				for block := 1; block <= last; block++ {
					own, at := counted[key{m.ID, w, block}].Metrics[metric.Name]
					base, beside := counted[key{m.Baseline, w, block}].Metrics[metric.Name]
					seen = seen || at || beside
					if at && beside && usable(own) && usable(base) {
						x, b = append(x, own), append(b, base)
					}
				}
				if !seen {
					continue
				}
				var l stats.LogRatio
				if len(x) > 0 {
					var err error
					if l, err = stats.Paired(x, b); err != nil {
						continue // a 0: there is no ratio, whatever comes
					}
				}
				out = append(out, Ratio{m.ID, w, metric.Name, l})
			}
		}
	}
	return out
}
