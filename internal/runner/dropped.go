package runner

import (
	"fmt"
	"slices"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// dropped is a workload that a mode failed at as often as it is tried. The other
// workloads go on: a generator that is not installed says nothing of the mode.
type dropped struct{ mode, workload string }

// drop gives up the workload of a lane for its mode, and the mode with the last
// of its workloads.
func (r *run) drop(l *lane) {
	reason := fmt.Sprintf("a trial of %s failed %d times in block %d: %v", l.Workload.ID, attempts, l.Block, l.err)
	r.dropped = append(r.dropped, dropped{l.Mode, l.Workload.ID})
	for _, w := range r.plan.Workloads {
		if w.ID != study.CostPassID && !r.gaveUp(l.Mode, w.Name()) {
			r.warn(warning.WorkloadFailed, l.Mode+" "+l.Workload.ID, "%s; it was not tried again", reason)
			return
		}
	}
	r.settle(l.stage, result.ModeFailed, reason)
}

// gaveUp reports whether a workload was dropped for a mode.
func (r *run) gaveUp(mode, workload string) bool {
	return slices.Contains(r.dropped, dropped{mode, workload})
}

// measurable leaves out the trials of modes that came to grief meanwhile, and of
// workloads that were dropped.
func (r *run) measurable(trials []plan.Trial) []plan.Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t plan.Trial) bool {
		return r.stage(t.Mode).status != result.ModeMeasured || r.gaveUp(t.Mode, t.Workload.ID)
	})
}
