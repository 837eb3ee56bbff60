package plan

import (
	"slices"

	"tare/internal/study"
)

// ModesLeave reports whether a run with a stopping rule measures a mode with a workload only until its
// own ratio is settled. What a study compares beyond the baselines needs its modes in the same blocks.
func ModesLeave(s study.Study) bool {
	return len(s.Compare) == 0 && len(s.Claims) == 0 && s.CostByParts == nil && len(Verifications(s)) == 0 &&
		!slices.ContainsFunc(s.Workloads, func(w study.Workload) bool { return len(w.Levels()) > 0 })
}
