package report

import (
	"slices"

	"tare/internal/report/say"
	"tare/internal/result"
)

// cleanTrials is trials as they are where all of them are fit to be shown, for there may
// be very many, and else a copy in which they are.
func cleanTrials(trials []result.Trial, unfit map[string]bool) []result.Trial {
	clean := trials
	for i := range trials {
		if fit(&trials[i]) && !unfit[trials[i].Mode] {
			continue
		}
		if &clean[0] == &trials[0] {
			clean = slices.Clone(trials)
		}
		clean[i] = cleanTrial(trials[i])
		if t := &clean[i]; unfit[t.Mode] {
			t.Metrics, t.Search, t.Steps = nil, nil, nil
		}
	}
	return clean
}

// fit says of a trial that cleanTrial would not change it.
func fit(t *result.Trial) bool {
	if name(t.Mode) != t.Mode || name(t.Workload) != t.Workload || why(t.Reason) != t.Reason || name(string(t.Status)) != string(t.Status) {
		return false
	}
	if slices.ContainsFunc(t.Processes, func(p result.ProcessCPU) bool { return name(p.Name) != p.Name }) ||
		t.Search != nil && slices.ContainsFunc(t.Search.Goals, func(g result.SearchGoal) bool { return name(g.Metric) != g.Metric }) {
		return false
	}
	for metric := range t.Metrics {
		if name(metric) != metric {
			return false
		}
	}
	return true
}

// why cleans the reason of a trial.
func why(reason string) string { return say.Cut(say.Clean(reason), mostWhy) }

func cleanTrial(t result.Trial) result.Trial {
	t.Mode, t.Workload, t.Reason = name(t.Mode), name(t.Workload), why(t.Reason)
	t.Status = result.TrialStatus(name(string(t.Status)))
	t.Processes = each(t.Processes, func(p result.ProcessCPU) result.ProcessCPU {
		p.Name = name(p.Name)
		return p
	})
	if t.Search != nil {
		search := *t.Search
		search.Goals = each(search.Goals, func(g result.SearchGoal) result.SearchGoal {
			g.Metric = name(g.Metric)
			return g
		})
		t.Search = &search
	}
	for metric := range t.Metrics {
		if name(metric) != metric {
			t.Metrics = cleanNames(t.Metrics)
			break
		}
	}
	return t
}

func cleanNames(metrics map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(metrics))
	for metric, v := range metrics {
		out[name(metric)] = v
	}
	return out
}
