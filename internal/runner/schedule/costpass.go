package schedule

import (
	"fmt"
	"slices"

	"tare/internal/analysis"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/report/wording"
	"tare/internal/result"
	"tare/internal/study"
)

// choosePass sets the rate of the pass where the run is to choose it: once, between blocks,
// as soon as it knows how fast every mode is. Until then the trials of the pass in the
// block to come are left out.
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
	from := analysis.PassChoice{Pass: p, Modes: sc.cfg.Modes(), Trials: sc.Trials, GaveUp: sc.gaveUp}
	choice, ok := from.Before(sc.cfg.Earlier)
	for last := 1; !ok && last < next; last++ {
		choice, ok = from.After(last)
	}
	if !ok {
		rest := slices.DeleteFunc(slices.Clone(sc.Todo[sc.Done:]), func(t plan.Trial) bool { return t.Block == next && t.InCostPass() })
		sc.Todo = append(sc.Todo[:sc.Done:sc.Done], rest...)
		if len(rest) > 0 && rest[0].Block > next {
			sc.choosePass() // the block had nothing else left
		}
		return
	}
	c.Rate, c.Of, c.Workload, c.Block = choice.Rate, choice.Of, choice.Workload, choice.Block
	for _, trials := range [][]plan.Trial{sc.Todo[sc.Done:], sc.Plan.Trials} {
		for i := range trials {
			if trials[i].InCostPass() {
				trials[i].Workload = plan.AtRate(trials[i].Workload, study.Rate(c.Rate))
			}
		}
	}
	sc.cfg.Tell(live.Decision{Text: fmt.Sprintf("%s: every mode at %s%s", study.CostPassID, wording.Value(c.Rate, "bit/s"), halfOf(*c))})
}

// halfOf says where a chosen rate comes from.
func halfOf(c result.CostPass) string {
	if c.Of == "" {
		return ""
	}
	return fmt.Sprintf(", half of what %s, the slowest, had in %s", c.Of, c.Workload)
}
