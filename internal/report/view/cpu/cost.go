// Package cpu shows what traffic costs in CPU time, and which parts of the kernel and the programs took it.
package cpu

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/report/view/sheet"
	"tare/internal/result"
	"tare/internal/wording"
)

// processes are the processes of a mode with their CPU use.
type processes struct {
	Mode string
	Text string // "docker-proxy 0.93 CPUs; dockerd < 0.01 CPUs"
	Most string // Text without idle processes, unless all were idle
}

// sharedLegend and apartLegend explain which machines the CPU time is of.
const (
	sharedLegend = "CPU time of both endpoints, which share a kernel and its CPUs. Idle use and other programs are subtracted."
	apartLegend  = "CPU time of both endpoints together. Idle use and other programs are subtracted."
)

// Legend explains which machines the CPU time is of.
func Legend(b model.CPUCost) string {
	for _, t := range b.Busy {
		if t.Metric.Name != result.CPUMachine {
			return apartLegend
		}
	}
	return sharedLegend
}

// columns are the heads of a mode's values.
func columns(b model.CPUCost) []string {
	out := []string{"CPU cost, " + b.Cost.Scale.Unit}
	for _, t := range b.Busy {
		out = append(out, busyHead(t.Metric))
	}
	return out
}

// figures are the values of a mode, as columns.
func figures(b model.CPUCost, r model.Row) []string {
	out := []string{r.Value(b.Cost.Scale)}
	for _, t := range b.Busy {
		own, _ := t.Of(r.Mode.ID)
		out = append(out, own.Bare(t))
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
	return wording.Cut(m.Title, 30)
}

// processesLegend heads the processes of modes.
const processesLegend = "Of which the mode's own processes (including time when other modes ran):"

// processesByMode are the modes' own processes, by mode.
func processesByMode(b model.CPUCost) []processes {
	var out []processes
	for _, r := range b.Cost.Rows() {
		if p := processesOf(r.Trials); p.Text != "" && !model.Unmeasured(r.Mode) {
			p.Mode = r.Mode.ID
			out = append(out, p)
		}
	}
	return out
}

// processesOf describes the CPU use of the mode's own processes in valid trials, the largest
// first; empty where there are none.
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
		text := piece.OrUnknown(name) + " "
		switch busy := used[name] / elapsed; {
		case !(elapsed > 0):
			text += wording.Value(used[name], "s") + " of CPU"
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

// leastBusy is the smallest CPU use that is shown.
const leastBusy = 0.005

// carriedIn are the tables of a pass that are alike by design.
func carriedIn(p model.Pass) []model.Table {
	return model.TablesOf(p.Tables, func(m result.Metric) bool { return !model.IsCPUMetric(m) })
}

// Section is the CPU cost with its breakdown.
func Section(b *model.Builder) []doc.Block {
	e, breakdowns := b.Evidence, Breakdowns(b.View)
	if len(e.CPUCosts)+len(breakdowns) == 0 && e.Pass == nil {
		return nil
	}
	s := doc.Section{ID: "cost", Nav: "CPU", Fold: true, Head: doc.Heading{Text: "CPU cost", Terminal: "CPU cost", Untold: len(e.CPUCosts) == 0}}
	add := func(blocks ...doc.Block) { s.Blocks = append(s.Blocks, blocks...) }
	if n := len(e.CPUCosts); n > 0 {
		add(piece.ForTerminal(doc.Paragraph{Role: doc.Legend, Text: Legend(e.CPUCosts[0]), Depth: 1}),
			piece.ForHTML(doc.Paragraph{Role: doc.Legend, Text: Legend(e.CPUCosts[n-1])}))
	}
	for i, bill := range e.CPUCosts {
		add(piece.ForTerminal(cpuCostTable(bill)))
		for j, t := range bill.Tables {
			metric := sheet.Metric(b, t, model.CPUCostAnchor(i+1, j), false)
			metric.Head.Name = bill.Workload
			add(piece.ForHTML(metric))
		}
		add(piece.ForHTML(processList(bill)...))
	}
	if e.Pass != nil {
		add(pass(b, *e.Pass)...)
	}
	for i, d := range breakdowns {
		add(breakdownSection(d, fmt.Sprintf("b%d", i+1)))
	}
	return []doc.Block{s}
}

// cpuCostTable is the CPU cost of a workload in each mode, for a terminal: the cost, the busy
// CPUs, and the ratio to the baseline with the verdict.
func cpuCostTable(of model.CPUCost) doc.Section {
	t := doc.Table{Kind: doc.Figures, Most: 3, Columns: []doc.Column{{Row: true}}, Groups: make([]doc.Group, 1)}
	for range columns(of) {
		t.Columns = append(t.Columns, doc.Column{})
	}
	t.Columns = append(t.Columns, doc.Column{Verdict: true})
	for _, r := range of.Cost.Rows() {
		row := doc.Row{Cells: []doc.Cell{{Text: r.Mode.ID}}}
		for _, text := range figures(of, r) {
			row.Cells = append(row.Cells, doc.Cell{Text: text})
		}
		if model.Unmeasured(r.Mode) {
			row.For = doc.HTML
		}
		row.Cells = append(row.Cells, doc.Cell{Tone: r.Tone(), Notes: r.Notes(of.Cost.Scale), Terminal: r.Judged()})
		t.Groups[0].Rows = append(t.Groups[0].Rows, row)
	}
	s := doc.Section{Head: doc.Heading{Name: of.Workload, Text: strings.Join(columns(of), "; "), Depth: 1}, Blocks: []doc.Block{t}}
	for _, own := range processesByMode(of) {
		s.Blocks = append(s.Blocks, doc.Paragraph{Text: "of it " + own.Mode + "'s own: " + own.Most, Depth: 1})
	}
	return s
}

// processList lists the CPU use of the modes' own processes.
func processList(b model.CPUCost) []doc.Block {
	l := doc.List{Role: doc.Own, Tight: true}
	for _, own := range processesByMode(b) {
		l.Items = append(l.Items, doc.Item{Name: own.Mode, Text: own.Text, Colon: true})
	}
	if len(l.Items) == 0 {
		return nil
	}
	return []doc.Block{doc.Paragraph{Role: doc.Own, Text: processesLegend}, l}
}

// pass is the pass at a fixed rate.
func pass(b *model.Builder, p model.Pass) []doc.Block {
	s := doc.Section{ID: "pass", Look: doc.Metric, Head: doc.Heading{Text: "At a fixed rate"},
		Blocks: []doc.Block{doc.Paragraph{Text: p.Text, Tight: true, Depth: 1, Cut: piece.MostGap}}}
	if p.ID != "" && p.Empty != "" {
		s.Blocks = append(s.Blocks, doc.Paragraph{Text: p.Empty, Depth: 1})
	}
	out := []doc.Block{s}
	for j, t := range p.CostTables() {
		metric := sheet.Metric(b, t, model.CPUCostAnchor(0, j), false)
		out = append(out, piece.ForHTML(metric))
	}
	var carried []doc.Block
	for j, t := range carriedIn(p) {
		metric := sheet.Metric(b, t, fmt.Sprintf("r%d", j+1), false)
		metric.Blocks = metric.Blocks[1:] // all modes have the same value
		carried = append(carried, metric)
	}
	if p.CPUCost != nil {
		out = append(out, piece.ForHTML(processList(*p.CPUCost)...), piece.ForTerminal(cpuCostTable(*p.CPUCost)))
	}
	if len(carried) > 0 {
		out = append(out, piece.ForHTML(doc.Details{Summary: "Rate carried", Blocks: carried}))
	}
	return append(out, piece.ForHTML(doc.Later(func() []doc.Block { return sheet.Log(b, p.Workload) })))
}
