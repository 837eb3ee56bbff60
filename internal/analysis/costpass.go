package analysis

import (
	"math"
	"slices"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// RequestedPass is the pass at one rate that a study asks for, before the first trial: its
// rate is 0 where the run is to choose it. Nil where the study asks for none.
func RequestedPass(s study.Study) *result.CostPass {
	asked := s.CostPass
	if !asked.On() {
		return nil
	}
	c := &result.CostPass{Asked: asked.Rate.String()}
	p, why, ok := plan.CostPass(s)
	if !ok {
		c.Missing = why
		return c
	}
	c.Kind, c.Rate = p.Workload.Kind, plan.Offered(p.Workload)
	return c
}

// PassChoice is what the rate of a pass is chosen from.
type PassChoice struct {
	Pass   plan.Pass
	Modes  []result.Mode
	Trials []result.Trial
	// GaveUp says that a workload is not tried any more with a mode; nil: that is unknown.
	GaveUp func(mode, workload string) bool
}

// Before is the rate that trials of the pass had, and how it had been chosen; false where
// there are none.
func (c PassChoice) Before(trials []result.Trial) (result.CostPass, bool) {
	for _, t := range trials {
		if t.Workload == study.CostPassID && t.Rate > 0 {
			for last := 1; last < t.Block; last++ {
				if found, ok := c.After(last); ok && found.Rate == t.Rate {
					return found, true
				}
			}
			return result.CostPass{Rate: t.Rate}, true // a mode that it was chosen from is gone
		}
	}
	return result.CostPass{}, false
}

// After is half of what the slowest mode had in the blocks up to the last one.
// After the first each mode must have been seen, later one is enough. What was run
// once more at the end is left out, so that a run that is resumed chooses the same.
func (c PassChoice) After(last int) (result.CostPass, bool) {
	slowest := result.CostPass{Block: last}
	least := math.Inf(1)
	for _, m := range c.Modes {
		if m.Status != result.ModeMeasured {
			continue
		}
		had, workload := c.had(m.ID, last)
		switch {
		case had > 0 && had < least:
			least, slowest.Of, slowest.Workload = had, m.ID, workload
		case had == 0 && last == 1 && (c.GaveUp == nil || !c.GaveUp(m.ID, c.Pass.From[0])):
			return result.CostPass{}, false
		}
	}
	slowest.Rate = passRate(least)
	return slowest, slowest.Rate > 0
}

// had is the most payload in bit/s that a mode carried in one of the workloads that
// the pass is made of, as the mean of its trials up to a block, and in which; 0 where
// that is unknown. A trial that was ruled out tells enough for that: the rate is a
// choice, and no figure.
func (c PassChoice) had(mode string, last int) (most float64, workload string) {
	for _, figure := range c.Pass.Values() {
		for _, name := range c.Pass.From {
			var sum float64
			n := 0
			for _, t := range c.Trials {
				if t.Mode == mode && t.Workload == name && t.Block >= 1 && t.Block <= last && t.Status != result.TrialFailed && !t.Requeued {
					if v := t.Metrics[figure]; v > 0 {
						sum, n = sum+v, n+1
					}
				}
			}
			if n > 0 && sum/float64(n) > most {
				most, workload = sum/float64(n), name
			}
		}
		if most > 0 {
			return most, workload
		}
	}
	return 0, ""
}

// passRate is half of a rate in bit/s, rounded down to three digits; 0 for one that
// is unknown.
func passRate(of float64) float64 {
	if !(of >= 2) || math.IsInf(of, 0) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(of/2))-2)
	if unit < 1 {
		return math.Floor(of / 2)
	}
	return math.Floor(of/2/unit) * unit
}

// passed notes the pass at one rate, and says where there was to be one and is none.
func (e *evaluation) passed() {
	if e.run.CostPass == nil {
		e.run.CostPass = e.passOfTrials()
	}
	if e.run.CostPass == nil || e.run.CostPass.Missing != "" || e.run.CostPass.Rate > 0 {
		return
	}
	c := *e.run.CostPass
	e.run.CostPass = &c
	if e.run.Status != result.RunComplete {
		c.Missing = "the run ended before its rate could be chosen"
		return
	}
	c.Missing = "no mode had a trial of the traffic that it is made of from which a rate could be chosen"
	if !slices.ContainsFunc(plan.Make(e.in.Study).Trials, plan.Trial.InCostPass) {
		c.Missing = "the run has no block for it"
	}
	e.warn(warning.CostPassMissing, "run", "there is no pass at one rate, and CPU use at different rates is not to be compared: %s", c.Missing)
}

// passOfTrials is what the trials tell of the pass of a run of which nothing else is left.
func (e *evaluation) passOfTrials() *result.CostPass {
	c := RequestedPass(e.in.Study)
	if c == nil || c.Missing != "" || c.Rate > 0 {
		return c
	}
	p, _, _ := plan.CostPass(e.in.Study)
	chosen, _ := PassChoice{Pass: p, Modes: e.run.Modes, Trials: e.in.Trials}.Before(e.in.Trials)
	c.Rate, c.Of, c.Workload, c.Block = chosen.Rate, chosen.Of, chosen.Workload, chosen.Block
	return c
}
