package result

import (
	"slices"
	"strings"
)

// Congestion is the TCP congestion control that a run has chosen for all of its trials in which
// the study leaves it open.
type Congestion struct {
	Name   string `json:"name"`
	Reason string `json:"reason"` // in words
}

// Pace is the offered payload of a workload whose rate is limited, so that hosts that serve
// others, too, are not loaded as much as possible. It is the same for all modes. A goodput at
// that rate is not the limit of a path.
type Pace struct {
	Workload string  `json:"workload"` // of the study
	Rate     float64 `json:"rate"`     // of all pairs of endpoints and both directions, bit/s
	// Mode had the first trial, which offered as much as it could or, with a Limit, twice that,
	// for Duration seconds, and received Reached bit/s. All are absent without a first trial.
	Mode     string  `json:"mode,omitempty"`
	Reached  float64 `json:"reached,omitempty"`
	Duration float64 `json:"duration,omitempty"`
	// Limit is what the study allows, bit/s: max_rate, or a lower rate of the workload. Absent
	// without one.
	Limit float64 `json:"limit,omitempty"`
}

// Limited reports whether the rate is the study's limit, not half of what the first trial reached.
func (p Pace) Limited() bool { return p.Limit > 0 && p.Rate >= p.Limit }

// NoisyIn reports whether the run is too noisy for a verdict on a workload.
func (r Run) NoisyIn(workload string) bool {
	return r.Noisy != "" || slices.Contains(r.NoisyWorkloads, workload)
}

// PaceOf returns the pace of a workload by its name in results, which for one of several values of
// a sweep, and for one by another tool, goes on after its name in the study and an @. It is nil
// without one.
func (r Run) PaceOf(workload string) *Pace {
	workload, _, _ = strings.Cut(workload, "@")
	for i, p := range r.Paces {
		if p.Workload == workload {
			return &r.Paces[i]
		}
	}
	return nil
}
