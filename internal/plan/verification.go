package plan

import (
	"slices"

	"tare/internal/study"
)

// Workloads are those of a resolved study, a sweep once for each of its rates, and each that is to be verified with its
// twin behind it: the same traffic made by the external tool, in the same blocks,
// with baseline cells of its own.
func Workloads(s study.Study) []study.Workload {
	var all []study.Workload
	for _, w := range s.Workloads {
		all = append(all, rates(w)...)
		if w.VerifyWith != "" {
			all = append(all, verification(w, s.Names()))
		}
	}
	return all
}

// Names lists the workloads of a resolved study as results name them, twins and the
// cost pass included.
func Names(s study.Study) []string {
	var names []string
	for _, w := range Workloads(s) {
		names = append(names, w.Name())
	}
	if _, _, passing := CostPass(s); passing {
		names = append(names, study.CostPassID)
	}
	return names
}

// Verifications gives, by the id of a workload that is to be verified, the id of its twin.
func Verifications(s study.Study) map[string]string {
	twins := map[string]string{}
	for _, w := range s.Workloads {
		if w.VerifyWith != "" {
			twins[w.Name()] = verification(w, s.Names()).ID
		}
	}
	return twins
}

// verification is a workload made by the tool that it is to be verified with: id.tool, or
// where a workload of the study has that name already, with more dots.
func verification(w study.Workload, taken []string) study.Workload {
	id := w.Name() + "." + w.VerifyWith
	for slices.Contains(taken, id) {
		id += "."
	}
	w.ID, w.Tool, w.VerifyWith = id, w.VerifyWith, ""
	w.DurationMin, w.DurationMax = 0, 0
	w.Slice = study.AtOnce // no tool can be driven in turns
	return w
}
