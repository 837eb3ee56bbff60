package analysis

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/verdict"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/warning"
)

// A CPU is saturated from saturatedAt on, and has capacity to spare below spareBelow.
const (
	saturatedAt = 0.95
	spareBelow  = 0.90
)

// saturated warns of modes that saturate a CPU or the underlay, or that bbr paces, where it
// affects a comparison.
func (e *evaluation) saturated() {
	if e.in.Lab {
		links := Links(e.in.Study, e.run.Modes)
		found, warnings := LinkLimits(links, e.run.Cells, e.in.Trials)
		e.run.LinkLimited = found
		e.add(warnings)
		e.add(Saturated(links, e.run.Cells, e.in.Trials, found))
	}
	for _, w := range plan.Workloads(e.in.Study) {
		e.fullCores(w)
		e.bbrPaces(w.Name())
	}
	if e.run.CostPass != nil {
		e.fullCores(study.Workload{ID: study.CostPassID, Rate: 1})
	}
}

// fullCores warns of modes that saturated a CPU with a workload although others did not, or
// although the workload has a rate. Where every mode saturates one without a rate, that is
// what the workload measures, and there is no warning.
func (e *evaluation) fullCores(w study.Workload) {
	full, spare := map[string]float64{}, false
	for _, m := range e.run.Modes {
		share, known := e.meanFullest(m.ID, w.Name())
		switch {
		case !known:
		case share >= saturatedAt:
			full[m.ID] = share
		case share < spareBelow:
			spare = true
		}
	}
	for _, m := range e.run.Modes {
		share, ok := full[m.ID]
		switch {
		case !ok:
		case paced(w):
			e.warn(warning.CoreSaturated, m.ID+" "+w.Name(), "a CPU was busy for %s of its trials although the workload has a rate: "+
				"delay and loss include the queue for the CPU. Set a lower rate, or compare the CPU cost.", warning.Said(verdict.Percent(share)))
		case spare:
			e.warn(warning.CoreSaturated, m.ID+" "+w.Name(), "a CPU was busy for %s of its trials, and in those of another mode none was (below %s): "+
				"here the CPU limits the result, there something else, such as the underlay or a window. Compare the CPU cost.", warning.Said(verdict.Percent(share)), verdict.Percent(spareBelow))
		}
	}
}

// paced says whether a workload has a rate.
func paced(w study.Workload) bool {
	return w.Rate != 0 && w.Rate != quantity.Unlimited || w.PacketRate != 0 || w.TransactionRate != 0
}

// meanFullest is the busy share of the busiest CPU, as the mean over a mode's valid trials of
// a workload.
func (e *evaluation) meanFullest(mode, workload string) (mean float64, known bool) {
	n := 0.0
	for _, t := range e.in.Trials {
		if t.Mode != mode || t.Workload != workload || t.Status != result.TrialOK || t.Aside() {
			continue
		}
		share, ok := 0.0, false
		for name, v := range t.Machine { // each of two machines has one
			if strings.HasSuffix(name, result.MachineFullest) {
				share, ok = max(share, v), true
			}
		}
		if ok {
			mean, n = mean+share, n+1
		}
	}
	return mean / max(1, n), n > 0
}

// bbrPaces warns of modes whose connections used bbr.
func (e *evaluation) bbrPaces(workload string) {
	var modes []string
	for _, t := range e.in.Trials {
		if t.Workload != workload || t.Status != result.TrialOK || slices.Contains(modes, t.Mode) {
			continue
		}
		for _, e := range []*result.End{t.Client, t.Server} {
			if e != nil && strings.HasPrefix(e.Congestion, "bbr") && !slices.Contains(modes, t.Mode) {
				modes = append(modes, t.Mode)
			}
		}
	}
	if len(modes) > 0 {
		e.warn(warning.BBRPaces, workload, "%s", fmt.Sprintf("congestion control was bbr (%s), which paces by its own timer: on a path through one kernel the timer limits the goodput before the path does, "+
			"which hides what a mode costs. Set congestion_control: cubic.", strings.Join(modes, ", ")))
	}
}
