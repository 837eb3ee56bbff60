package schedule

import (
	"fmt"
	"slices"

	"tare/internal/analysis"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/wording"
)

// choosePass sets the rate of the cost pass if the run must choose it: once, between
// blocks, as soon as the speed of every mode is known. Until then the trials of the pass
// in the next block are left out.
func (sc *Schedule) choosePass() {
	c := sc.cfg.Report.CostPass
	if c == nil || c.Missing != "" || c.Rate > 0 {
		return
	}
	p, _, _ := plan.CostPass(sc.cfg.Study)
	next := sc.Plan.Blocks + 1
	if sc.Done < len(sc.Todo) {
		next = sc.Todo[sc.Done].Block
	}
	from := analysis.PassChoice{Pass: p, Modes: sc.cfg.Modes(), Trials: sc.passTrials, GaveUp: sc.gaveUp}
	choice, ok := from.Before(sc.passTrials)
	for last := 1; !ok && last < next; last++ {
		choice, ok = from.After(last)
	}
	if !ok {
		rest := slices.DeleteFunc(slices.Clone(sc.Todo[sc.Done:]), func(t plan.Trial) bool { return t.Block == next && t.InCostPass() })
		sc.Todo = append(sc.Todo[:sc.Done:sc.Done], rest...)
		if len(rest) > 0 && rest[0].Block > next {
			sc.choosePass() // the block contains nothing else
		}
		return
	}
	c.Rate, c.Of, c.Workload, c.Block = choice.Rate, choice.Of, choice.Workload, choice.Block
	sc.passFrom, sc.passTrials = nil, nil
	rated := plan.AtRate(p.Workload, quantity.Rate(c.Rate))
	sc.Plan.Revise(1, rated)
	for i := range sc.Todo[sc.Done:] {
		if t := &sc.Todo[sc.Done+i]; t.InCostPass() {
			t.Workload = rated
		}
	}
	sc.cfg.Tell(live.Decision{Text: fmt.Sprintf("%s: every mode at %s%s", study.CostPassID, wording.Value(c.Rate, "bit/s"), halfRateText(*c))})
}

// halfRateText says which rate the chosen rate is half of.
func halfRateText(c result.CostPass) string {
	if c.Of == "" {
		return ""
	}
	return fmt.Sprintf(", half the rate of %s, the slowest, in %s", c.Of, c.Workload)
}
