package model

import (
	"math"
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/wording"
)

// CPUCost is the CPU cost of a workload.
type CPUCost struct {
	Workload string
	Tables   []Table // all of it
	Cost     Table   // of Tables: per unit of work
	Busy     []Table // of Tables: mean number of busy CPUs, of one machine or of each endpoint's
}

// IsCPUMetric says that a metric is part of the CPU cost.
func IsCPUMetric(m result.Metric) bool { return strings.HasPrefix(m.Name, "cpu_") }

// isCPUCost says that a metric is the cost of what was carried.
func isCPUCost(m result.Metric) bool { return strings.HasPrefix(m.Name, "cpu_cost") }

// newCPUCost takes the CPU cost of a workload from its tables; false where it has none.
func newCPUCost(w Workload) (CPUCost, bool) {
	b := CPUCost{Workload: w.ID}
	found := false
	for _, t := range w.Tables {
		if IsCPUMetric(t.Metric) {
			b.Tables = append(b.Tables, t)
		}
		switch {
		case isCPUCost(t.Metric) && !found && t.Judged():
			b.Cost, found = t, true
		case IsCPUMetric(t.Metric) && !isCPUCost(t.Metric) && t.Judged():
			b.Busy = append(b.Busy, t)
		}
	}
	if !found {
		return CPUCost{}, false
	}
	return b, true
}

// Pass is the fixed-rate pass, in which every mode carries the same rate.
type Pass struct {
	Workload
	CPUCost *CPUCost // nil where it has none
	Text    string   // the rate and the reason for it, or why there is none
	Rate    string   // "4.20 Gbit/s"; empty where it is not known
}

// CostTables are the tables of CPU metrics.
func (p Pass) CostTables() []Table { return TablesOf(p.Tables, IsCPUMetric) }

// TablesOf are the tables of some metrics.
func TablesOf(of []Table, is func(result.Metric) bool) []Table {
	return slices.DeleteFunc(slices.Clone(of), func(t Table) bool { return !is(t.Metric) })
}

func newPass(c *result.CostPass, w Workload) Pass {
	p := Pass{Workload: w, Text: "Every mode was offered the same rate"}
	if b, ok := newCPUCost(w); ok {
		p.CPUCost = &b
	} else if w.ID != "" && w.Empty == "" {
		p.Empty = "No valid trial has a CPU cost; the warnings and the list of invalid trials say why."
	}
	const why = ": CPU use can only be compared at the same rate."
	switch {
	case c == nil:
		p.Text += why
	case c.Missing != "":
		p.Text = "No pass at a fixed rate: " + strings.TrimRight(c.Missing, ".") + "."
	case c.Rate <= 0 && w.ID == "":
		p.Text = "The pass at a fixed rate was not reached."
	case !(c.Rate > 0) || math.IsInf(c.Rate, 0):
		p.Text += why
	default:
		p.Rate = wording.Value(c.Rate, "bit/s")
		p.Text = "Every mode was offered " + p.Rate
		if c.Of != "" {
			p.Text += ", half the goodput of the slowest (" + c.Of + ")"
		}
		p.Text += why
	}
	return p
}

// evidence is the CPU cost of a run.
type evidence struct {
	Lead     []string // paragraphs before the answer
	Pass     *Pass
	CPUCosts []CPUCost
}

// addCPUCosts takes the fixed-rate pass out of the workloads and collects their CPU costs.
func (v *View) addCPUCosts() {
	var of Workload
	if i := slices.IndexFunc(v.Workloads, func(w Workload) bool { return w.ID == result.CostPassID }); i >= 0 {
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

// InCPUCosts reports whether a table is part of the CPU cost section.
func (v View) InCPUCosts(t Table) bool {
	return IsCPUMetric(t.Metric) && slices.ContainsFunc(v.Evidence.CPUCosts, func(b CPUCost) bool { return b.Workload == t.Workload })
}
