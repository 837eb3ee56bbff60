package verdict

import (
	"slices"

	"tare/internal/result"
)

// OwnShares states what the generator itself adds to the exchanges of each workload in a closed loop, as the trials of its
// baselines have it. Where they follow one another ([Input.Serial]) it corrects the ratios of the cells: a ratio r of rates becomes
// (1-s) r / (1 - s r), where s is the share of the own time in an exchange of the baseline. Where they overlap, s is the
// share of the client's time. Without an own time in its trials, or with an impossible one, that of a workload is unknown.
func OwnShares(in Input, closed []string, cells []result.Cell) []result.OwnShare {
	var out []result.OwnShare
	for _, base := range cells {
		if !isExchangeRate(base.Metric) || base.Baseline != "" || base.Value == nil || !slices.Contains(closed, base.Workload) {
			continue
		}
		o := result.OwnShare{Workload: base.Workload, Baseline: base.Mode, Overlapping: !slices.Contains(in.Serial, base.Workload)}
		var own []float64
		for _, t := range in.Trials {
			if t.Mode == base.Mode && t.Workload == base.Workload && t.Status == result.TrialOK && !t.Aside() && t.Client != nil && t.Client.OwnTime != nil {
				own = append(own, *t.Client.OwnTime)
			}
		}
		slices.Sort(own)
		if len(own) > 0 {
			if seconds := own[len(own)/2]; seconds > 0 && seconds**base.Value < 1 {
				o.Seconds, o.Share = seconds, seconds**base.Value
			}
		}
		for _, c := range cells {
			if o.Share > 0 && !o.Overlapping && c.Workload == base.Workload && c.Metric == base.Metric && c.Baseline == base.Mode && c.Ratio != nil && o.Share**c.Ratio < 1 {
				o.Modes = append(o.Modes, result.OwnRatio{Mode: c.Mode, Ratio: (1 - o.Share) * *c.Ratio / (1 - o.Share**c.Ratio)})
			}
		}
		out = append(out, o)
	}
	return out
}

// isExchangeRate reports whether a metric is a rate of exchanges of which a client waits for each.
func isExchangeRate(metric string) bool {
	return slices.Contains([]string{"transaction_rate", "connection_rate", "query_rate"}, metric)
}
