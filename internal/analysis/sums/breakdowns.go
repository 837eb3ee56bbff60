package sums

import (
	"maps"
	"slices"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/stats"
)

// Breakdowns sums up the sampled trials of each measured mode and workload, in the order of
// workloads, then modes. Workloads without a sampled trial are left out, and so are
// components in which no mode of a workload has a sample.
func Breakdowns(modes []result.Mode, workloads []string, trials []result.Trial) []result.Breakdown {
	var out []result.Breakdown
	for _, w := range workloads {
		sampled, used := map[string][]result.Trial{}, map[string]bool{}
		for _, t := range trials {
			if t.Workload != w || t.Stacks == nil || t.Status != result.TrialOK {
				continue
			}
			sampled[t.Mode] = append(sampled[t.Mode], t)
			for name, n := range t.Stacks.Components {
				used[name] = used[name] || n > 0
			}
		}
		if len(sampled) == 0 {
			continue
		}
		names := slices.DeleteFunc(result.ComponentNames(), func(n string) bool { return !used[n] && n != result.Unclassified })
		// Components of a later version of tare come last.
		for _, n := range slices.Sorted(maps.Keys(used)) {
			if used[n] && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		for _, m := range modes {
			switch of := sampled[m.ID]; {
			case m.Status != result.ModeMeasured:
			case len(of) == 0:
				out = append(out, result.Breakdown{Mode: m.ID, Workload: w, Components: []result.Component{}, Missing: "no trial of it was sampled completely"})
			default:
				out = append(out, breakdown(m.ID, w, names, of))
			}
		}
	}
	return out
}

// breakdown sums up the sampled trials of one mode and workload.
func breakdown(mode, workload string, names []string, trials []result.Trial) result.Breakdown {
	b := result.Breakdown{Mode: mode, Workload: workload, Trials: len(trials), Components: []result.Component{}}
	counts := map[string]int{}
	var cpus float64
	costs, known := make([]float64, len(trials)), true
	for i, t := range trials {
		b.Samples += t.Stacks.Busy
		b.Lost += t.Stacks.Lost
		for name, n := range t.Stacks.Components {
			counts[name] += n
		}
		cpu, ok := t.Stacks.CPU()
		cpus += cpu / float64(len(trials))
		cost, unit, priced := sampledCost(t)
		if !ok || !priced || ownSamples(*t.Stacks) == 0 || b.Unit != "" && unit != b.Unit {
			known = false
			continue
		}
		costs[i], b.Unit = cost, unit
	}
	if b.Samples == 0 {
		b.Unit, b.Missing = "", "the CPUs were idle in every sample"
		return b
	}
	b.CPUs, b.File = &cpus, result.StacksFile(mode, workload)
	if own := ownSamples(result.Stacks{Busy: b.Samples, Components: counts}); own > 0 {
		b.Unknown = float64(counts[result.Unclassified]) / float64(own)
	}
	if known {
		b.Cost, _ = overTrials(costs)
	} else {
		b.Unit = ""
	}
	for _, name := range names {
		c := result.Component{Name: name, Share: float64(counts[name]) / float64(b.Samples)}
		if known && !result.Beside(name) {
			parts := make([]float64, len(trials))
			for i, t := range trials {
				parts[i] = costs[i] * float64(t.Stacks.Components[name]) / float64(ownSamples(*t.Stacks))
			}
			c.Cost, c.CI = overTrials(parts)
		}
		b.Components = append(b.Components, c)
	}
	return b
}

// ownSamples is the number of busy samples that are the mode's cost.
func ownSamples(s result.Stacks) int {
	n := s.Busy
	for name, of := range s.Components {
		if result.Beside(name) {
			n -= of
		}
	}
	return n
}

// overTrials is the arithmetic mean over trials, so that parts still add up to the whole, and
// its 95 % interval where there are two or more.
func overTrials(xs []float64) (*float64, *result.Interval) {
	e, err := stats.MeanInterval(xs, 0.95)
	if err != nil || !readings.Finite(e.Value) {
		return nil, nil
	}
	if !e.HasInterval || !readings.Finite(e.Lo) || !readings.Finite(e.Hi) {
		return &e.Value, nil
	}
	return &e.Value, &result.Interval{max(0, e.Lo), e.Hi}
}

// sampledCost is the CPU cost of a sampled trial and its unit: that of the whole machine less
// its idle use, or where it is unknown that of the mode's samples.
func sampledCost(t result.Trial) (cost float64, unit string, ok bool) {
	for _, of := range []struct{ metric, unit string }{
		{"cpu_cost", "s/Gbit"}, {"cpu_cost_transactions", "s/1000 transactions"}, {"cpu_cost_connections", "s/1000 connections"},
	} {
		if v, there := t.Metrics[of.metric]; there && readings.Usable(v) {
			return v, of.unit, true
		}
	}
	cpus, ok := t.Stacks.CPU()
	if ok && t.Stacks.Busy > 0 {
		cpus *= float64(ownSamples(*t.Stacks)) / float64(t.Stacks.Busy)
	}
	for _, of := range []struct {
		metric string
		scale  float64
		unit   string
	}{{"goodput", 1e9, "s/Gbit"}, {"transaction_rate", 1000, "s/1000 transactions"}, {"connection_rate", 1000, "s/1000 connections"}} {
		if v, there := t.Metrics[of.metric]; ok && there && readings.Usable(v) && v > 0 {
			return cpus * of.scale / v, of.unit, true
		}
	}
	return 0, "", false
}
