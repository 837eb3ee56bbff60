package sums

import (
	"slices"

	"tare/internal/analysis/readings"
	"tare/internal/result"
)

// ECDFs merges the distributions of each measured mode and workload over its trials, in the
// order of workloads, then modes. Trials without distributions, such as those of external
// generators and older versions, are left out.
func ECDFs(modes []result.Mode, workloads []string, trials []result.Trial) []result.ECDF {
	tab := readings.Tabulate(modes, workloads, trials)
	var out []result.ECDF
	for _, w := range workloads {
		for _, m := range modes {
			own := tab.Trials(m.ID, w)
			for _, of := range kinds(own) {
				if e, ok := pooled(own, of); ok {
					e.Mode, e.Workload = m.ID, w
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// kinds are the kinds of distributions that trials have, in the order of their first trial.
func kinds(trials []*result.Trial) []string {
	var out []string
	for _, t := range trials {
		for _, d := range t.Distributions {
			if !slices.Contains(out, d.Of) {
				out = append(out, d.Of)
			}
		}
	}
	return out
}

func pooled(trials []*result.Trial, of string) (result.ECDF, bool) {
	e := result.ECDF{}
	all, coarsest := map[float64]int64{}, 0.0
	for _, t := range trials {
		i := slices.IndexFunc(t.Distributions, func(d result.Distribution) bool { return d.Of == of && d.Count() > 0 })
		if i < 0 {
			e.Missing++
			continue
		}
		e.Trials++
		d := t.Distributions[i]
		coarsest = max(coarsest, d.Resolution)
		for i, u := range d.Upper {
			all[u] += d.Counts[i]
		}
	}
	sum := result.Distribute(of, all)
	if sum == nil {
		return e, false
	}
	e.Distribution = *sum
	e.Resolution = max(e.Resolution, coarsest)
	return e, true
}
