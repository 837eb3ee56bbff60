package runner

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/report/say"
	"tare/internal/result"
	"tare/internal/study"
)

// errNoRate keeps a trial of the pass from being driven as fast as it goes.
var errNoRate = errors.New("the pass has no rate yet: the run should have left it out")

// passing notes, before the first trial, what pass at one rate the study asks for.
func (r *run) passing() {
	asked := r.cfg.Study.CostPass
	if !asked.On() {
		return
	}
	r.out.CostPass = &result.CostPass{Asked: asked.Rate.String()}
	p, why, ok := plan.CostPass(r.cfg.Study)
	if !ok {
		r.out.CostPass.Missing = why
		return
	}
	r.out.CostPass.Kind, r.out.CostPass.Rate = p.Workload.Kind, plan.Offered(p.Workload)
}

// CostPass is what the trials of a run, of which nothing else is left, say of its
// pass; nil where the study asks for none.
func CostPass(s study.Study, trials []result.Trial) *result.CostPass {
	r := run{trials: trials}
	r.cfg.Study = s
	r.passing()
	c := r.out.CostPass
	if c == nil || c.Missing != "" || c.Rate > 0 {
		return c
	}
	i := slices.IndexFunc(trials, func(t result.Trial) bool { return t.Workload == study.CostPassID && t.Rate > 0 })
	if i < 0 {
		c.Missing = noPassYet
		return c
	}
	c.Rate = trials[i].Rate
	return c
}

// noPassYet is why a run that did not come to its end has no pass.
const noPassYet = "the run ended before its rate could be chosen"

// choosePass sets the rate of the pass where the run is to choose it: once, between blocks,
// as soon as it knows how fast every mode is. Until then the trials of the pass in the
// block to come are left out.
func (r *run) choosePass() {
	c := r.out.CostPass
	if c == nil || c.Missing != "" || c.Rate > 0 {
		return
	}
	p, _, _ := plan.CostPass(r.cfg.Study)
	next := r.plan.Blocks + 1
	if r.done < len(r.todo) {
		next = r.todo[r.done].Block
	}
	choice, ok := r.passBefore()
	for last := 1; !ok && last < next; last++ {
		choice, ok = r.chosenAfter(p, last)
	}
	if !ok {
		rest := slices.DeleteFunc(slices.Clone(r.todo[r.done:]), func(t plan.Trial) bool { return t.Block == next && t.Costing() })
		r.todo = append(r.todo[:r.done:r.done], rest...)
		if len(rest) > 0 && rest[0].Block > next {
			r.choosePass() // the block had nothing else left
		}
		return
	}
	c.Rate, c.Of, c.Workload, c.Block = choice.Rate, choice.Of, choice.Workload, choice.Block
	for _, trials := range [][]plan.Trial{r.todo[r.done:], r.plan.Trials} {
		for i := range trials {
			if trials[i].Costing() {
				trials[i].Workload = plan.AtRate(trials[i].Workload, study.Rate(c.Rate))
			}
		}
	}
	r.tell(live.Told{Text: fmt.Sprintf("%s: every mode at %s%s", study.CostPassID, say.Value(c.Rate, "bit/s"), halfOf(*c))})
}

// halfOf says where a chosen rate comes from.
func halfOf(c result.CostPass) string {
	if c.Of == "" {
		return ""
	}
	return fmt.Sprintf(", half of what %s, the slowest, had in %s", c.Of, c.Workload)
}

// passBefore is the rate that a run had chosen before it was interrupted.
func (r *run) passBefore() (result.CostPass, bool) {
	for _, t := range r.cfg.Done {
		if t.Workload == study.CostPassID && t.Rate > 0 {
			p, _, _ := plan.CostPass(r.cfg.Study)
			for last := 1; last < t.Block; last++ {
				if c, ok := r.chosenAfter(p, last); ok && c.Rate == t.Rate {
					return c, true
				}
			}
			return result.CostPass{Rate: t.Rate}, true // a mode that it was chosen from is gone
		}
	}
	return result.CostPass{}, false
}

// chosenAfter is half of what the slowest mode had in the blocks up to the last one.
// After the first each mode must have been seen, later one is enough. What was run
// once more at the end is left out, so that a run that is resumed chooses the same.
func (r *run) chosenAfter(p plan.Pass, last int) (result.CostPass, bool) {
	slowest := result.CostPass{Block: last}
	least := math.Inf(1)
	for _, s := range r.stages {
		if s.status != result.ModeMeasured {
			continue
		}
		had, workload := r.had(s.mode.ID, p, last)
		switch {
		case had > 0 && had < least:
			least, slowest.Of, slowest.Workload = had, s.mode.ID, workload
		case had == 0 && last == 1 && !r.gaveUp(s.mode.ID, p.From[0]):
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
func (r *run) had(mode string, p plan.Pass, last int) (most float64, workload string) {
	for _, figure := range p.Figures() {
		for _, name := range p.From {
			var sum float64
			n := 0
			for _, t := range r.trials {
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

// passed says at the end where there was to be a pass and is none.
func (r *run) passed() {
	c := r.out.CostPass
	if c == nil || c.Missing != "" || c.Rate > 0 {
		return
	}
	if r.out.Status != result.RunComplete {
		c.Missing = noPassYet
		return
	}
	c.Missing = "no mode had a trial of the traffic that it is made of from which a rate could be chosen"
	if !slices.ContainsFunc(r.plan.Trials, plan.Trial.Costing) {
		c.Missing = "the run has no block for it"
	}
	r.warn("cost_pass_missing", "run", "there is no pass at one rate, and CPU use at different rates is not to be compared: %s", c.Missing)
}
