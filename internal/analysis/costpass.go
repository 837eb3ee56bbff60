package analysis

import (
	"math"

	"tare/internal/analysis/verdict"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// RequestedPass is the cost pass of a study before the first trial, nil without one. Its rate
// is 0 where the run chooses it.
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

// PassChoice is what the rate of a cost pass is chosen from.
type PassChoice struct {
	Pass   plan.Pass
	Modes  []result.Mode
	Trials []result.Trial
	// GaveUp says that a workload is no longer run with a mode; nil: unknown.
	GaveUp func(mode, workload string) bool
}

// Before is the rate of the pass in these trials and how it was chosen. ok is false if the
// pass has no trials.
func (c PassChoice) Before(trials []result.Trial) (result.CostPass, bool) {
	for _, t := range trials {
		if t.Workload == study.CostPassID && t.Rate > 0 {
			for last := 1; last < t.Block; last++ {
				if found, ok := c.After(last); ok && found.Rate == t.Rate {
					return found, true
				}
			}
			return result.CostPass{Rate: t.Rate}, true // the run lacks a mode that it was chosen from
		}
	}
	return result.CostPass{}, false
}

// After is half of the rate of the slowest mode in the blocks up to last. After the first
// block every mode must have a rate, later one is enough. Groups repeated at the end are
// left out, so that a resumed run chooses the same rate.
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
	slowest.Rate = verdict.PassRate(least)
	return slowest, slowest.Rate > 0
}

// had is the highest payload rate in bit/s of a mode in one of the workloads of the pass, as
// the mean of its trials up to a block, and that workload; 0 if unknown. Invalid trials
// count: the rate is a choice and not a result.
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

// passed records the cost pass, and warns if the study asks for one that is missing.
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
	c.Missing = "no mode has a trial of its workloads from which a rate can be chosen"
	if !plan.Make(e.in.Study).HasCostPass() {
		c.Missing = "the run has no block for it"
	}
	e.warn(warning.CostPassMissing, "run", "there is no cost pass, so CPU use is only known at different rates, which is not comparable: %s", c.Missing)
}

// passOfTrials is the cost pass as the trials show it, for a run that has no other record.
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
