package analysis

import (
	"slices"

	"tare/internal/result"
)

// OwnShares states what the generator itself adds to the exchanges of each serial workload, as the trials of its baselines have
// it, and corrects the ratios of the cells: a ratio r of rates becomes (1-s) r / (1 - s r), where s is the share of the own time
// in an exchange of the baseline. Nothing is known of workloads and trials without an own time.
func OwnShares(in Input, cells []result.Cell) []result.OwnShare {
	var out []result.OwnShare
	for _, base := range cells {
		if base.Metric != "transaction_rate" || base.Baseline != "" || base.Value == nil || !slices.Contains(in.Serial, base.Workload) {
			continue
		}
		var own []float64
		for _, t := range in.Trials {
			if t.Mode == base.Mode && t.Workload == base.Workload && t.Status == result.TrialOK && !t.Aside() && t.Client != nil && t.Client.OwnTime != nil {
				own = append(own, *t.Client.OwnTime)
			}
		}
		if len(own) == 0 {
			continue
		}
		slices.Sort(own)
		o := result.OwnShare{Workload: base.Workload, Baseline: base.Mode, Seconds: own[len(own)/2]}
		if o.Share = o.Seconds * *base.Value; !(o.Share > 0 && o.Share < 1) {
			continue
		}
		for _, c := range cells {
			if c.Workload == base.Workload && c.Metric == base.Metric && c.Baseline == base.Mode && c.Ratio != nil && o.Share**c.Ratio < 1 {
				o.Modes = append(o.Modes, result.OwnRatio{Mode: c.Mode, Ratio: (1 - o.Share) * *c.Ratio / (1 - o.Share**c.Ratio)})
			}
		}
		out = append(out, o)
	}
	return out
}
