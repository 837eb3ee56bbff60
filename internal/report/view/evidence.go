package view

import (
	"slices"
	"strings"

	"tare/internal/result"
)

// evidence is the CPU cost of a run.
type evidence struct {
	Lead     []string // paragraphs before the answer
	Pass     *pass
	CPUCosts []cpuCost
}

// addCPUCosts takes the fixed-rate pass out of the workloads and collects their CPU costs.
func (v *view) addCPUCosts() {
	var of workload
	if i := slices.IndexFunc(v.Workloads, func(w workload) bool { return w.ID == result.CostPassID }); i >= 0 {
		of = v.Workloads[i]
		v.Workloads = slices.Delete(v.Workloads, i, i+1)
	}
	if v.Run.CostPass != nil || of.ID != "" {
		p := newPass(v.Run.CostPass, of)
		v.Evidence.Pass = &p
	}
	for _, w := range v.Workloads {
		if b, ok := newCPUCost(w); ok {
			v.Evidence.CPUCosts = append(v.Evidence.CPUCosts, b)
		}
	}
	v.Evidence.Lead = leads(*v)
}

// inCPUCosts reports whether a table is part of the CPU cost section.
func (v view) inCPUCosts(t table) bool {
	return isCPUMetric(t.Metric) && slices.ContainsFunc(v.Evidence.CPUCosts, func(b cpuCost) bool { return b.Workload == t.Workload })
}

// ordered sorts items of modes into the order of these. Items of unknown modes are left out.
func ordered[T any](modes []result.Mode, of []T, mode func(T) string) []T {
	var out []T
	for _, m := range modes {
		for _, x := range of {
			if mode(x) == m.ID {
				out = append(out, x)
			}
		}
	}
	return out
}

// workloadsIn lists the workloads of items, in the order in which they first appear.
func workloadsIn[T any](of []T, workload func(T) string) []string {
	var out []string
	for _, x := range of {
		if id := workload(x); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// gaps collects missing values, so that a reason of several modes is listed once.
type gaps struct {
	reasons []string
	modes   map[string][]string
}

func (g *gaps) add(mode, reason string) {
	if g.modes == nil {
		g.modes = map[string][]string{}
	}
	if !slices.Contains(g.reasons, reason) {
		g.reasons = append(g.reasons, reason)
	}
	if !slices.Contains(g.modes[reason], mode) {
		g.modes[reason] = append(g.modes[reason], mode)
	}
}

// list is a sentence for each reason.
func (g *gaps) list() []string {
	var out []string
	for _, r := range g.reasons {
		out = append(out, strings.Join(g.modes[r], ", ")+": "+r)
	}
	return out
}
