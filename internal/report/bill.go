package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/say"
	"tare/internal/result"
)

// bill is what a workload cost in CPU time.
type bill struct {
	Workload  string
	Tables    []table // all of it
	Cost      table   // of Tables: per unit of what was carried
	Busy      []table // of Tables: mean number of CPUs busy, of one machine or of each end
	Processes []processes
}

// processes are those that belong to a mode, with what they used.
type processes struct {
	Mode string
	Text string // "docker-proxy 0.93 CPUs; dockerd 0.01 CPUs"
}

// sharedLegend and apartLegend say whose CPU time it is.
const (
	sharedLegend = "One bill for both ends, which share a kernel and its CPUs. What the machine used when idle is subtracted."
	apartLegend  = "The bill of both ends together. What the machines used when idle is subtracted."
)

// Legend says whose CPU time the bill is of.
func (b bill) Legend() string {
	for _, t := range b.Busy {
		if t.Metric.Name != result.CPUMachine {
			return apartLegend
		}
	}
	return sharedLegend
}

// columns name the figures of a mode.
func (b bill) columns() []string {
	out := []string{"CPU cost, " + b.Cost.Scale.Unit}
	for _, t := range b.Busy {
		out = append(out, busyHead(t.Metric))
	}
	return out
}

// figures are those of a mode, as columns.
func (b bill) figures(r row) []string {
	out := []string{r.value(b.Cost.Scale)}
	for _, t := range b.Busy {
		own, _ := t.of(r.Mode.ID)
		out = append(out, own.bare(t))
	}
	return out
}

// busyHead heads a column of CPUs busy.
func busyHead(m result.Metric) string {
	switch m.Name {
	case result.CPUMachine:
		return "CPUs busy"
	case result.CPUSender:
		return "CPUs busy at the sender"
	case result.CPUReceiver:
		return "at the receiver"
	}
	return say.Cut(m.Title, 30)
}

// processesLegend heads the processes of modes.
const processesLegend = "Of that, processes of the mode's own:"

// billed says that a metric is part of a CPU bill; costs that it is what is to pay for
// what was carried.
func billed(m result.Metric) bool { return strings.HasPrefix(m.Name, "cpu_") }

func costs(m result.Metric) bool { return strings.HasPrefix(m.Name, "cpu_cost") }

// newBill takes the bill of a workload from its tables; false where it has none.
func newBill(w workload) (bill, bool) {
	b := bill{Workload: w.ID}
	found := false
	for _, t := range w.Tables {
		if billed(t.Metric) {
			b.Tables = append(b.Tables, t)
		}
		switch {
		case costs(t.Metric) && !found && t.judged():
			b.Cost, found = t, true
		case billed(t.Metric) && !costs(t.Metric) && t.judged():
			b.Busy = append(b.Busy, t)
		}
	}
	if !found {
		return bill{}, false
	}
	for _, r := range b.Cost.rows() {
		if text := processesOf(r.Trials); text != "" && !unmeasured(r.Mode) {
			b.Processes = append(b.Processes, processes{r.Mode.ID, text})
		}
	}
	return b, true
}

// processesOf words what the mode's own processes used in the trials that count, the
// hungriest first; empty where there are none.
func processesOf(trials []result.Trial) string {
	used, elapsed := map[string]float64{}, 0.0
	var names []string
	for _, t := range trials {
		if t.Status != result.TrialOK || len(t.Processes) == 0 {
			continue
		}
		elapsed += t.Machine["cpu_time"]
		for _, p := range t.Processes {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
			used[p.Name] += p.CPU
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case used[a] > used[b]:
			return -1
		case used[a] < used[b]:
			return 1
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, name := range names {
		switch busy := used[name] / elapsed; {
		case !(elapsed > 0):
			parts = append(parts, orUnknown(name)+" "+say.Value(used[name], "s")+" of CPU")
		case busy < 0.005:
			parts = append(parts, orUnknown(name)+" < 0.01 CPUs")
		default:
			parts = append(parts, fmt.Sprintf("%s %.2f CPUs", orUnknown(name), busy))
		}
	}
	return strings.Join(parts, "; ")
}
