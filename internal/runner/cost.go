package runner

import (
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/study"
	"tare/internal/traffic"
)

// cpuUse is what the CPU time of a trial was spent on, nil for a search without an answer,
// which has no rate to tell the cost of.
func (tr *trialRun) cpuUse() *evidence.CPUUse {
	if tr.err != nil {
		return nil
	}
	u := &evidence.CPUUse{
		CPUTime: tr.observed.CPUTime, Metric: costOf(tr.work.Spec().Metric), Carried: tr.carried(), TrafficSeconds: tr.out.Traffic, Backward: tr.Workload.Direction == study.Reverse,
	}
	if tr.search != nil {
		u.CPUTime, u.Carried, u.TrafficSeconds = tr.search.atThroughput()
		if u.Carried == 0 {
			return nil
		}
	}
	return u
}

// costOf is the metric of the cost of what a workload carries, by its primary metric.
func costOf(primary string) string {
	switch primary {
	case "transaction_rate":
		return result.CPUCostTransactions
	case "connection_rate":
		return result.CPUCostConnections
	}
	return result.CPUCost
}

// carried is what the trial carried at all, warm-up and drain included: Gbit received
// by both ends, or thousands of exchanges.
func (tr *trialRun) carried() float64 {
	if costOf(tr.work.Spec().Metric) == result.CPUCost {
		return gbit(tr.client, tr.server)
	}
	return float64(tr.client.Messages) / 1000
}

// gbit is the payload that both ends received.
func gbit(client, server traffic.Report) float64 {
	return float64(client.Received+server.Received) * 8 / 1e9
}

// stepCost is what a step of a search cost.
type stepCost struct {
	load    float64 // datagrams/s
	gbit    float64
	flowing float64 // seconds
	spent   evidence.CPUTime
}

// atThroughput sums up the steps at the rate that the search found: for the first
// of its goals that has an answer. The cost of a Gbit at rates that lose much of it, or
// at which the path is half idle, is another one.
func (s *search) atThroughput() (spent evidence.CPUTime, carried, flowing float64) {
	for _, o := range s.state.Outcomes() {
		if o.Lower == nil {
			continue
		}
		for _, m := range s.costs {
			if m.load == *o.Lower {
				spent, carried, flowing = spent.Plus(m.spent), carried+m.gbit, flowing+m.flowing
			}
		}
		break
	}
	return spent, carried, flowing
}

// whole is what all steps cost together.
func (s *search) whole() (all evidence.CPUTime) {
	for _, m := range s.costs {
		all = all.Plus(m.spent)
	}
	return all
}
