package sums

import (
	"maps"
	"math"
	"slices"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/stats"
)

// setupMetrics are the metrics of a set-up in the order of reports.
func setupMetrics() []string {
	return []string{result.SetupSandbox, result.SetupConnect, result.SetupFirstByte, result.SetupFirst200, result.SetupOwn}
}

// SetupTimes returns the percentiles of the times of set-ups, by workload and mode: of each metric, and then of each step by name.
func SetupTimes(modes []result.Mode, workloads []string, trials []result.Trial) []result.SetupTime {
	var out []result.SetupTime
	for _, w := range workloads {
		for _, m := range modes {
			if m.Status != result.ModeMeasured {
				continue
			}
			metrics, steps := map[string][]float64{}, map[string][]float64{}
			for _, t := range trials {
				if t.Mode != m.ID || t.Workload != w || t.Status != result.TrialOK || t.Aside() {
					continue
				}
				for _, metric := range setupMetrics() {
					if v, has := t.Metrics[metric]; has {
						metrics[metric] = append(metrics[metric], v)
					}
				}
				for name, v := range t.SetupSteps {
					steps[name] = append(steps[name], v)
				}
			}
			add := func(values []float64, s result.SetupTime) {
				p50, known := stats.QuantileByOrder(values, 0.5, readings.Confidence)
				p90, _ := stats.QuantileByOrder(values, 0.9, readings.Confidence)
				if known {
					s.Mode, s.Workload, s.Setups, s.P50, s.P90 = m.ID, w, len(values), percentile(p50), percentile(p90)
					out = append(out, s)
				}
			}
			for _, metric := range setupMetrics() {
				add(metrics[metric], result.SetupTime{Metric: metric})
			}
			for _, name := range slices.Sorted(maps.Keys(steps)) {
				add(steps[name], result.SetupTime{Step: name})
			}
		}
	}
	return out
}

func percentile(o stats.OrderQuantile) result.Percentile {
	p := result.Percentile{Value: o.Value}
	if !math.IsNaN(o.Low) {
		p.Low = &o.Low
	}
	if !math.IsNaN(o.High) {
		p.High = &o.High
	}
	return p
}
