package runner

import (
	"errors"
	"fmt"
	"slices"

	"tare/internal/analysis"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/report/say"
	"tare/internal/result"
	"tare/internal/study"
)

// errNoRate keeps a trial of the pass from being driven as fast as it goes.
var errNoRate = errors.New("the pass has no rate yet: the run should have left it out")

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
	from := analysis.PassChoice{Pass: p, Modes: r.modes(), Trials: r.trials, GaveUp: r.gaveUp}
	choice, ok := from.Before(r.cfg.Done)
	for last := 1; !ok && last < next; last++ {
		choice, ok = from.After(last)
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
