package plan

import (
	"time"

	"tare/internal/stats/ratesearch"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
)

// IsSearch reports whether the trial is a rate search: many steps, each interleaved with
// those of the other modes' searches.
func (t Trial) IsSearch() bool { return len(t.Workload.LossGoals) > 0 }

// SetsUp reports whether the trial sets its mode up again and measures how long that takes.
func (t Trial) SetsUp() bool { return t.Workload.Kind == study.SetupKind }

// SendsAtRate reports whether a workload sends datagrams at a fixed rate.
func SendsAtRate(w study.Workload) bool {
	return w.PayloadSize > 0 && len(w.LossGoals) == 0 && Offered(w) > 0
}

// Search converts a workload to the configuration of a rate search. Loads are in
// datagrams/s.
func Search(w study.Workload) ratesearch.Config {
	c := ratesearch.Config{Min: datagrams(w, w.MinRate), Max: datagrams(w, w.MaxRate), MaxTime: w.MaxSearch.Std().Seconds()}
	goal := ratesearch.Goal{
		ExceedRatio: w.ExceedRatio.Of, FinalDuration: w.Step.Std().Seconds(), DurationSum: w.StepSum.Std().Seconds(), Width: w.Precision,
	}
	for _, loss := range w.LossGoals {
		g := goal
		g.Name, g.LossRatio = traffic.ThroughputMetric(loss, false), loss
		c.Goals = append(c.Goals, g)
	}
	if w.Goal != study.Beside {
		return c
	}
	for _, loss := range w.LossGoals {
		g := ratesearch.Strict(goal)
		g.Name, g.LossRatio = traffic.ThroughputMetric(loss, true), loss
		c.Goals = append(c.Goals, g)
	}
	return c
}

// datagrams converts a payload rate to datagrams/s.
func datagrams(w study.Workload, r quantity.Rate) float64 { return float64(r) / PayloadBits(w) }

// PayloadBits is the number of payload bits of a datagram.
func PayloadBits(w study.Workload) float64 { return float64(w.PayloadSize) * 8 }

// StepOverhead is the time of a search step in addition to its warm-up, its sending and
// the pause before it, which includes the drain: a handshake, and reading counters.
const StepOverhead = 40 * time.Millisecond

// step is how long a step with a sending time of d takes.
func step(w study.Workload, d time.Duration) time.Duration {
	return w.Pause.Std() + w.Warmup.Std() + d + StepOverhead
}

// searchLossDelay is the factor between the duration of a search on a machine whose speed
// varies and the estimate for an ideal path. Measured on two shared CPUs: a mean of 33 s
// for nine searches, from 13 to 62 s, where the ideal path takes 17 s.
const searchLossDelay = 1.7

// estimate is how long a search with these parameters takes on an ideal path that begins
// to lose at a tenth of the highest load, a little at first. near means that an earlier
// search found that rate.
func estimate(w study.Workload, near bool) time.Duration {
	c := Search(w)
	knee := max(c.Max/10, min(2*c.Min, c.Max))
	if near {
		for _, g := range c.Goals {
			c.Near = append(c.Near, ratesearch.Bracket{Goal: g.Name, Lower: knee * (1 - g.Width), Upper: knee})
		}
	}
	s, err := ratesearch.New(c)
	if err != nil {
		return w.MaxSearch.Std() // the run reports what is wrong
	}
	var long time.Duration
	for {
		r, more := s.Next()
		if !more {
			return time.Duration(float64(long) * searchLossDelay)
		}
		sent := int64(r.Load*r.Duration) + 1
		arrived := sent
		if r.Load > knee {
			arrived = int64(knee * r.Duration)
		}
		if err := s.Add(ratesearch.Trial{Load: r.Load, Duration: r.Duration, Intended: sent, Sent: sent, Received: arrived}); err != nil {
			return w.MaxSearch.Std()
		}
		long += step(w, time.Duration(r.Duration*float64(time.Second)))
	}
}

// estimateSearches estimates how long the searches of each workload take.
func (p *Plan) estimateSearches() {
	for _, w := range p.Workloads {
		if len(w.LossGoals) > 0 {
			if p.searches == nil {
				p.searches = map[string][2]time.Duration{}
			}
			p.searches[w.ID] = [2]time.Duration{estimate(w, false), estimate(w, true)}
		}
	}
}

// expected is the estimated time of a search, 0 of any other workload. In the first block,
// which has every workload, nothing is known about the mode yet.
func (p Plan) expected(block int, w study.Workload) time.Duration {
	takes := p.searches[w.ID]
	if block <= 1 {
		return takes[0]
	}
	return takes[1]
}

// MaxTime is the maximum time of the trial, without its settling wait.
func (t Trial) MaxTime() time.Duration {
	if !t.IsSearch() {
		return t.Traffic() + t.Overhead()
	}
	w := t.Workload
	steps := 1 + w.MaxSearch.Std()/w.Step.Std()
	return steps * 2 * (step(w, w.Step.Std()) + DrainOverhead)
}
