package plan

import (
	"slices"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic/workloads"
)

// Pilot is the workload of a study's pilot trials: the first bulk workload, else the first
// workload, among those of the built-in generator that record a series. It has no warm-up and the
// length that the study sets, in one piece, because only a long transfer shows how long one takes
// to settle. ok is false if the study has none or disables pilots.
func Pilot(s study.Study) (study.Workload, bool) {
	if s.Pilot.Std() == 0 {
		return study.Workload{}, false
	}
	fit := slices.DeleteFunc(Workloads(s), func(w study.Workload) bool { return External(w) || !timed(w) })
	if len(fit) == 0 {
		return study.Workload{}, false
	}
	w := fit[max(0, slices.IndexFunc(fit, Bulk))]
	w.Warmup, w.Duration, w.Event = quantity.WaitOf(0), s.Pilot.For, ""
	w.DurationMin, w.DurationMax, w.Every, w.Times, w.Slice = 0, 0, 0, 0, quantity.AtOnce
	return w, true
}

// WarmedByPilots reports whether pilots determine the warm-up of a workload's trials: that of bulk
// transfers in one piece. Each slice of an interleaved trial is a new transfer, whose own first part is
// left out.
func WarmedByPilots(w study.Workload) bool {
	return Bulk(w) && w.ID != study.CostPassID && !Trial{Workload: w}.Sliced()
}

// timed reports whether a trial of w has a timed window with a series; a rate search,
// which consists of many steps, has none.
func timed(w study.Workload) bool {
	t, err := workloads.Named(w.Kind)
	return err == nil && slices.Contains(t.Spec().Params, "duration") && workloads.CanSlice(w.Kind, false)
}

// Bulk reports whether a workload needs time to fill a slow path.
func Bulk(w study.Workload) bool {
	t, err := workloads.Named(w.Kind)
	return err == nil && t.Spec().Bulk
}
