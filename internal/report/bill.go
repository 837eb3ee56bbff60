package report

import (
	"cmp"
	"fmt"
	"maps"
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
	Text string // "docker-proxy 0.93 CPUs; dockerd < 0.01 CPUs"
	Most string // Text without those that used next to nothing, unless all did
}

// sharedLegend and apartLegend say whose CPU time it is.
const (
	sharedLegend = "One bill for both ends, which share a kernel and its CPUs. What the machine used when idle is subtracted, and what other programs used."
	apartLegend  = "The bill of both ends together. What the machines used when idle is subtracted, and what other programs used."
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
const processesLegend = "Of that, processes of the mode's own (what they did while other modes had their turns included):"

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
		if p := processesOf(r.Trials); p.Text != "" && !unmeasured(r.Mode) {
			p.Mode = r.Mode.ID
			b.Processes = append(b.Processes, p)
		}
	}
	return b, true
}

// processesOf words what the mode's own processes used in the trials that count, the
// hungriest first; empty where there are none.
func processesOf(trials []*result.Trial) processes {
	used, elapsed := map[string]float64{}, 0.0
	for _, t := range trials {
		if t.Status != result.TrialOK || len(t.Processes) == 0 {
			continue
		}
		elapsed += t.Machine["cpu_time"]
		for _, p := range t.Processes {
			used[p.Name] += p.CPU
		}
	}
	names := slices.Sorted(maps.Keys(used))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(used[b], used[a]) })
	var all, most []string
	for _, name := range names {
		text := orUnknown(name) + " "
		switch busy := used[name] / elapsed; {
		case !(elapsed > 0):
			text += say.Value(used[name], "s") + " of CPU"
		case busy < leastBusy:
			text += fmt.Sprintf("< %.2f CPUs", 2*leastBusy)
		default:
			text += fmt.Sprintf("%.2f CPUs", busy)
		}
		all = append(all, text)
		if len(most) == 0 || !(used[name]/elapsed < leastBusy) {
			most = append(most, text)
		}
	}
	return processes{Text: strings.Join(all, "; "), Most: strings.Join(most, "; ")}
}

// leastBusy is the least that is worth a figure, in CPUs.
const leastBusy = 0.005
