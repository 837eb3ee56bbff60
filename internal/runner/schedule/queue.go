package schedule

import (
	"slices"

	"tare/internal/plan"
)

// queue is the trials of a session in their order.
type queue struct {
	Todo []plan.Trial // of the plan, without the trials of the resumed run
	Done int          // number of trials of Todo that have run
}

// Append adds trials after those that have run, replacing those that were left.
func (q *queue) Append(trials []plan.Trial) {
	q.Todo = append(q.Todo[:q.Done:q.Done], trials...)
}

// Rest lists the trials that have not run.
func (q *queue) Rest() []plan.Trial { return q.Todo[min(q.Done, len(q.Todo)):] }

// BlockTrials lists the remaining trials of a block, which are consecutive.
func (q *queue) BlockTrials(block int) []plan.Trial {
	rest := q.Todo[q.Done:]
	if i := slices.IndexFunc(rest, func(t plan.Trial) bool { return t.Block != block }); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// next is the next trial of a workload.
func (q *queue) next(workload string) (plan.Trial, bool) {
	for _, t := range q.Todo[q.Done:] {
		if t.Workload.ID == workload && !t.Pilot() && t.Held == 0 {
			return t, true
		}
	}
	return plan.Trial{}, false
}

// group is the group of a trial in its block.
func (q *queue) group(next plan.Trial) []plan.Trial {
	var group []plan.Trial
	for _, t := range q.Todo[q.Done:] {
		if t.Block == next.Block && t.Workload.ID == next.Workload.ID {
			group = append(group, t)
		}
	}
	return group
}
