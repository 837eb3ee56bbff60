// Package sums sums up what the trials of each mode counted: attempts, losses, limits, distributions, sampled stacks.
package sums

import (
	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/stats"
)

// Attempts adds up the connections of each mode and workload over TCP in all trials, those that failed included: without
// them a network that breaks connections would look clean. Trials of paths that were not proven, and those that count in
// no cell, are left out. The set-ups of a mode are the replicates of the intervals, blocks where they are unknown.
func Attempts(modes []result.Mode, workloads []string, trials []result.Trial) []result.AttemptSummary {
	type pair struct{ mode, workload string }
	of := map[pair][]result.Trial{}
	for _, t := range trials {
		if t.Attempts != nil && t.Attempts.Tried > 0 && t.Attempts.Valid() && !t.Void && !t.Aside() {
			of[pair{t.Mode, t.Workload}] = append(of[pair{t.Mode, t.Workload}], t)
		}
	}
	var out []result.AttemptSummary
	for _, w := range workloads {
		for _, m := range modes {
			if own := of[pair{m.ID, w}]; len(own) > 0 {
				s := attemptsOf(own)
				s.Mode, s.Workload = m.ID, w
				out = append(out, s)
			}
		}
	}
	return out
}

func attemptsOf(trials []result.Trial) result.AttemptSummary {
	s := result.AttemptSummary{Trials: len(trials)}
	type cluster struct{ setup, block int }
	index := map[cluster]int{}
	var failed, late []stats.Counted
	for _, t := range trials {
		key := cluster{setup: t.Setup}
		if t.Setup == 0 {
			key.block = t.Block
		}
		i, known := index[key]
		if !known {
			i = len(failed)
			index[key] = i
			failed, late = append(failed, stats.Counted{}), append(late, stats.Counted{})
		}
		a := *t.Attempts
		s.Attempts = s.Plus(a)
		failed[i].K, failed[i].N = failed[i].K+a.Failed(), failed[i].N+a.Tried
		late[i].K, late[i].N = late[i].K+a.Late, late[i].N+a.Tried
	}
	s.Setups, s.FailedShare, s.LateShare = len(failed), shareOf(failed), shareOf(late)
	return s
}

func shareOf(clusters []stats.Counted) result.Share {
	value, lo, hi, _ := stats.ShareInterval(clusters, readings.Confidence)
	return result.Share{Value: value, Low: lo, High: hi}
}
