package plan

import (
	"time"

	"tare/internal/stats/ratesearch"
	"tare/internal/study"
	"tare/internal/traffic"
)

// IsSearch reports whether the trial is a rate search: many steps, each of which
// is driven in turn with those of the other modes' searches.
func (t Trial) IsSearch() bool { return len(t.Workload.LossGoals) > 0 }

// Search is what a workload asks of a rate search. Loads are in datagrams/s.
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

// datagrams is a rate of payload in datagrams/s.
func datagrams(w study.Workload, r study.Rate) float64 { return float64(r) / PayloadBits(w) }

// PayloadBits is how many bits of payload a datagram has.
func PayloadBits(w study.Workload) float64 { return float64(w.PayloadSize) * 8 }

// StepOverhead is what a step of a search takes beyond its warm-up, its sending and
// the pause before it, which holds the drain: a handshake, and reading counters.
const StepOverhead = 40 * time.Millisecond

// step is how long a step takes that sends for d.
func step(w study.Workload, d time.Duration) time.Duration {
	return w.Pause.Std() + w.Warmup.Std() + d + StepOverhead
}

// doubt is how much longer a search takes on a machine whose speed wavers than on the
// still path of estimate. Seen on two shared CPUs: 33 s a search in the mean of nine,
// from 13 to 62, where the still path takes 17.
const doubt = 1.7

// estimate is how long a search with these parameters takes: that of a still path
// which begins to lose at a tenth of the highest load, a little at first. With near,
// an earlier search has found that.
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
		return w.MaxSearch.Std() // the run will say what is wrong
	}
	var long time.Duration
	for {
		r, more := s.Next()
		if !more {
			return time.Duration(float64(long) * doubt)
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

// expect notes on the trials of searches how long each takes.
func (p *Plan) expect() {
	known := map[string][2]time.Duration{}
	for _, w := range p.Workloads {
		if len(w.LossGoals) > 0 {
			known[w.ID] = [2]time.Duration{estimate(w, false), estimate(w, true)}
		}
	}
	seen := map[string]bool{} // by mode and workload
	for i := range p.Trials {
		t := &p.Trials[i]
		long, searching := known[t.Workload.ID]
		if !searching {
			continue
		}
		t.Expected = long[0]
		if key := t.Mode + "\x00" + t.Workload.ID; seen[key] {
			t.Expected = long[1]
		} else {
			seen[key] = true
		}
	}
}

// MaxTime is the longest that the trial may take, its settling wait aside.
func (t Trial) MaxTime() time.Duration {
	if !t.IsSearch() {
		return t.Traffic() + t.Overhead()
	}
	w := t.Workload
	steps := 1 + w.MaxSearch.Std()/w.Step.Std()
	return steps * 2 * (step(w, w.Step.Std()) + DrainOverhead)
}
