package runner

import (
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/study"
	"tare/internal/traffic"
)

// cpuUse is the traffic that the CPU time of a trial was spent on. It is nil for a search
// without a result, which has no rate to relate the cost to, and for a trial with a load beside it.
func (tr *trialRun) cpuUse() *evidence.CPUUse {
	if tr.err != nil || tr.load != nil || tr.event != nil { // the share of the load, or of the event, in the CPU time is unknown
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

// costOf returns the name of the cost metric that belongs to a workload's primary metric.
func costOf(primary string) string {
	switch primary {
	case "transaction_rate":
		return result.CPUCostTransactions
	case "connection_rate":
		return result.CPUCostConnections
	}
	return result.CPUCost
}

// exchanges reports whether a trial's workload counts exchanges, such as transactions, and not bytes.
func (tr *trialRun) exchanges() bool { return costOf(tr.work.Spec().Metric) != result.CPUCost }

// carried is what the trial carried in total, warm-up and drain included: Gbit received
// by both endpoints, or thousands of exchanges.
func (tr *trialRun) carried() float64 {
	if !tr.exchanges() {
		return gbit(tr.client, tr.server)
	}
	if tr.client.Tool != nil { // it may count its timed window only
		return float64(tr.server.Messages) / 1000
	}
	return float64(tr.client.Messages) / 1000
}

// gbit is the payload that both endpoints received, in Gbit.
func gbit(client, server traffic.Report) float64 {
	return float64(client.Received+server.Received) * 8 / 1e9
}

// stepCost is the CPU time that one step of a search used.
type stepCost struct {
	load    float64 // datagrams/s
	gbit    float64
	flowing float64 // seconds
	spent   evidence.CPUTime
}

// atThroughput sums up the steps at the rate that the search found for the first of its
// goals that has a result. The cost per Gbit differs at rates that lose much of it and at
// rates that leave the path half idle.
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

// whole is the CPU time of all steps together.
func (s *search) whole() (all evidence.CPUTime) {
	for _, m := range s.costs {
		all = all.Plus(m.spent)
	}
	return all
}
