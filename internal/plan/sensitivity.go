package plan

import (
	"slices"

	"tare/internal/result"
	"tare/internal/study"
)

// Varied are the workloads of the sensitivity pass of a resolved study. What has a limit of its rate is not varied: the limit
// would be the result.
func Varied(s study.Study) []study.Varied {
	return slices.DeleteFunc(s.Sensitivities(), func(v study.Varied) bool {
		return slices.ContainsFunc(Paced(s), func(w study.Workload) bool { return w.Name() == v.Of }) ||
			slices.ContainsFunc(Limits(s), func(p result.Pace) bool { return p.Workload == v.Of })
	})
}

// variedIn inserts the trials of the sensitivity pass among those of a block.
func (p Plan) variedIn(block int, trials []Trial) []Trial {
	for i, v := range p.Varied {
		if v.In(block) {
			trials = p.insert(1<<62|uint64(i)<<32|uint64(block), block, v.Workload, trials)
		}
	}
	return trials
}
