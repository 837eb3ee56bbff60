package analysis

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// A CPU is full from saturatedAt on, and one with room to spare is below spareBelow.
const (
	saturatedAt = 0.95
	spareBelow  = 0.90
)

// saturated warns of what filled a CPU or its underlay, or was paced by bbr, in a way
// that bears on a comparison.
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

// fullCores warns of modes that filled a CPU with a workload although others did not,
// or although they had no more to do than a given rate. That every mode fills one as
// it goes as fast as it can is what such a workload measures.
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
			e.warn(warning.CoreSaturated, m.ID+" "+w.Name(), "a CPU was busy for %s of its trials, though no more was asked of them than a rate: "+
				"what the mode did there it did at its limit, and delays and losses show the CPU's queue, too", percent(share))
		case spare:
			e.warn(warning.CoreSaturated, m.ID+" "+w.Name(), "a CPU was busy for %s of its trials, and in those of another mode none was (below %s): "+
				"here the CPU set the figure, there something else did, such as the underlay or a window; what the modes cost in CPU compares them better", percent(share), percent(spareBelow))
		}
	}
}

// paced says whether a workload has a rate to keep to.
func paced(w study.Workload) bool {
	return w.Rate != 0 && w.Rate != study.Unlimited || w.PacketRate != 0 || w.TransactionRate != 0
}

// meanFullest is how full the fullest CPU was in the mean over a mode's trials of a
// workload that count.
func (e *evaluation) meanFullest(mode, workload string) (mean float64, known bool) {
	n := 0.0
	for _, t := range e.in.Trials {
		if t.Mode != mode || t.Workload != workload || t.Status != result.TrialOK || t.Aside() {
			continue
		}
		share, ok := 0.0, false
		for name, v := range t.Machine { // of two machines, each has its own
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

// bbrPaces warns of modes whose connections were under bbr.
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
		e.warn(warning.BBRPaces, workload, "%s", fmt.Sprintf("bbr was in force (%s): it sends no faster than it has estimated the path to be, by a timer of its own. "+
			"On a path through one kernel that timer sets the goodput before the path does, which hides what a mode costs; cubic or reno show it", strings.Join(modes, ", ")))
	}
}
