package verdict

import "tare/internal/stats"

// ModeRatio is the ratio of a mode to its baseline in a primary metric. Known is false where
// there is no ratio: no block has both, or a value is 0.
type ModeRatio struct {
	Mode, Workload, Metric string
	Ratio                  stats.LogRatio
	Known                  bool
}

// Ratios lists the ratio of each measured mode to its baseline in the primary metrics of the
// workloads, without a verdict; a run decides by them when to stop. Controls are left out,
// and metrics of which the mode has no value.
func Ratios(in Input) []ModeRatio {
	tab, metrics := in.Table(in.Workloads), in.metrics()
	var out []ModeRatio
	for _, w := range in.Workloads {
		for _, metric := range metrics {
			for _, m := range in.Modes {
				own := tab.Values(m.ID, w, metric.Name)
				if !metric.Primary || m.Control || m.Baseline == "" || len(own) == 0 {
					continue
				}
				r := ModeRatio{Mode: m.ID, Workload: w, Metric: metric.Name}
				r.Ratio, r.Known = LogRatio(own, tab.Values(m.Baseline, w, metric.Name), in.Rule.Pairing)
				out = append(out, r)
			}
		}
	}
	return out
}
