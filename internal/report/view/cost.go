package view

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// mostReasons is how many of the kernel's drop reasons a terminal shows.
const mostReasons = 3

// mostGap is how many columns of a reason for a missing value a terminal shows.
const mostGap = 600

// cpuCost is the CPU cost of a workload.
type cpuCost struct {
	Workload string
	Tables   []table // all of it
	Cost     table   // of Tables: per unit of work
	Busy     []table // of Tables: mean number of busy CPUs, of one machine or of each endpoint's
}

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
func (b cpuCost) Legend() string {
	for _, t := range b.Busy {
		if t.Metric.Name != result.CPUMachine {
			return apartLegend
		}
	}
	return sharedLegend
}

// columns are the heads of a mode's values.
func (b cpuCost) columns() []string {
	out := []string{"CPU cost, " + b.Cost.Scale.Unit}
	for _, t := range b.Busy {
		out = append(out, busyHead(t.Metric))
	}
	return out
}

// figures are the values of a mode, as columns.
func (b cpuCost) figures(r row) []string {
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
	return wording.Cut(m.Title, 30)
}

// processesLegend heads the processes of modes.
const processesLegend = "Of which the mode's own processes (including time when other modes ran):"

// isCPUMetric says that a metric is part of the CPU cost.
func isCPUMetric(m result.Metric) bool { return strings.HasPrefix(m.Name, "cpu_") }

// isCPUCost says that a metric is the cost of what was carried.
func isCPUCost(m result.Metric) bool { return strings.HasPrefix(m.Name, "cpu_cost") }

// newCPUCost takes the CPU cost of a workload from its tables; false where it has none.
func newCPUCost(w workload) (cpuCost, bool) {
	b := cpuCost{Workload: w.ID}
	found := false
	for _, t := range w.Tables {
		if isCPUMetric(t.Metric) {
			b.Tables = append(b.Tables, t)
		}
		switch {
		case isCPUCost(t.Metric) && !found && t.judged():
			b.Cost, found = t, true
		case isCPUMetric(t.Metric) && !isCPUCost(t.Metric) && t.judged():
			b.Busy = append(b.Busy, t)
		}
	}
	if !found {
		return cpuCost{}, false
	}
	return b, true
}

// processes are the modes' own processes, by mode.
func (b cpuCost) processes() []processes {
	var out []processes
	for _, r := range b.Cost.rows() {
		if p := processesOf(r.Trials); p.Text != "" && !unmeasured(r.Mode) {
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
		text := orUnknown(name) + " "
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

// pass is the fixed-rate pass, in which every mode carries the same rate.
type pass struct {
	workload
	CPUCost *cpuCost // nil where it has none
	Text    string   // the rate and the reason for it, or why there is none
	Rate    string   // "4.20 Gbit/s"; empty where it is not known
}

// costTables are the tables of CPU metrics.
func (p pass) costTables() []table { return tablesOf(p.Tables, isCPUMetric) }

// carried are the tables of a pass that are alike by design.
func (p pass) carried() []table {
	return tablesOf(p.Tables, func(m result.Metric) bool { return !isCPUMetric(m) })
}

func tablesOf(of []table, is func(result.Metric) bool) []table {
	return slices.DeleteFunc(slices.Clone(of), func(t table) bool { return !is(t.Metric) })
}

func newPass(c *result.CostPass, w workload) pass {
	p := pass{workload: w, Text: "Every mode was offered the same rate"}
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

// costClause is the CPU cost of a mode against its baseline, as a clause.
type costClause struct {
	row  row
	text string
}

// costOf returns the main CPU cost of a mode: at the fixed rate, or else of the first bulk
// workload. False where there is none.
func (v view) costOf(mode string, s *sentence) (costClause, bool) {
	var bills []cpuCost
	at := ""
	if p := v.Evidence.Pass; p != nil && p.CPUCost != nil {
		bills = append(bills, *p.CPUCost)
		if p.Rate != "" {
			at = " at " + p.Rate
		}
	}
	for i, b := range append(bills, v.Evidence.CPUCosts...) {
		r, ok := b.Cost.of(mode)
		if !ok || r.Cell == nil || unmeasured(r.Mode) || r.Mode.Control {
			continue
		}
		if i >= len(bills) {
			at = ""
			if len(v.Evidence.CPUCosts) > 1 {
				at = " in " + b.Workload
			}
		}
		if text := s.costText(b.Cost, *r.Cell); text != "" {
			return costClause{r, text + at}, true
		}
	}
	return costClause{}, false
}

// costText formats a cell of CPU cost as the last clause of a sentence; empty without a value.
func (s *sentence) costText(t table, c result.Cell) string {
	switch {
	case c.Ratio == nil && c.Baseline == "" && c.Value != nil:
		return "CPU cost " + valueOf(t, c)
	case c.Ratio == nil:
		return ""
	case c.Verdict == result.Worse || c.Verdict == result.Better:
		return "costs " + wording.Ratio(c.Ratio, c.RatioCI) + " " + wording.Of(*c.Ratio) + " " + s.baseline(c.Baseline, "'s", "its") + " CPU" + per(t)
	case c.Verdict == result.Same && c.Margin > 0:
		return "costs the same CPU" + per(t) + " within " + wording.Percent(c.Margin)
	case c.Verdict == result.Small && c.Margin > 0:
		return "costs " + wording.Ratio(c.Ratio, c.RatioCI) + " " + wording.Of(*c.Ratio) + " " + s.baseline(c.Baseline, "'s", "its") + " CPU" + per(t) + ", a difference of less than " + wording.Percent(c.Margin)
	case c.Verdict == result.CannotTell:
		return "cannot be told from " + s.baseline(c.Baseline, "", "it") + " by CPU cost" + because(c)
	}
	return ""
}

// per is the unit of work of a cost: " per Gbit".
func per(t table) string {
	_, of, ok := strings.Cut(t.Metric.Unit, "/")
	if !ok {
		return ""
	}
	return " per " + of
}

// leads compare modes that all reach the limit of the link.
func leads(v view) []string {
	var out []string
	for _, l := range v.Run.LinkLimited {
		text := "All modes reach the link's limit in " + l.Workload
		if l.Link > 0 {
			text += " (" + wording.Value(l.Link, "bit/s") + ")"
		}
		var costs []string
		for _, m := range v.Run.Modes {
			if unmeasured(m) || m.Baseline == "" || m.Control {
				continue
			}
			s := sentence{}
			if p, ok := v.costOf(m.ID, &s); ok {
				costs = append(costs, m.ID+" "+p.text)
			}
		}
		if len(costs) == 0 {
			out = append(out, text+", so goodput does not distinguish them; their CPU cost is unknown.")
			continue
		}
		out = append(out, text+", so compare their CPU cost: "+strings.Join(costs, "; ")+".")
	}
	return out
}

// cost is the CPU cost with its breakdown.
func (b *builder) cost() []doc.Block {
	e, breakdowns := b.Evidence, breakdownsOf(b.view)
	if len(e.CPUCosts)+len(breakdowns) == 0 && e.Pass == nil {
		return nil
	}
	s := doc.Section{ID: "cost", Nav: "CPU", Fold: true, Head: doc.Heading{Text: "CPU cost", Terminal: "CPU cost", Untold: len(e.CPUCosts) == 0}}
	add := func(blocks ...doc.Block) { s.Blocks = append(s.Blocks, blocks...) }
	if n := len(e.CPUCosts); n > 0 {
		add(doc.Only{For: doc.Terminal | doc.Markdown, Blocks: []doc.Block{doc.Paragraph{Role: doc.Legend, Text: e.CPUCosts[0].Legend(), Depth: 1}}},
			forHTML(doc.Paragraph{Role: doc.Legend, Text: e.CPUCosts[n-1].Legend()}))
	}
	for i, bill := range e.CPUCosts {
		add(forTerminal(b.cpuCostTable(bill)))
		for j, t := range bill.Tables {
			metric := b.metric(t, cpuCostAnchor(i+1, j), false)
			metric.Head.Name = bill.Workload
			add(forPages(metric))
		}
		add(forPages(bill.processList()...))
	}
	if e.Pass != nil {
		add(b.pass(*e.Pass)...)
	}
	for i, d := range breakdowns {
		add(b.breakdown(d, fmt.Sprintf("b%d", i+1)))
	}
	return []doc.Block{s}
}

// cpuCostTable is the CPU cost of a workload in each mode, for a terminal: the cost, the busy
// CPUs, and the ratio to the baseline with the verdict.
func (b *builder) cpuCostTable(of cpuCost) doc.Section {
	t := doc.Table{Kind: doc.Figures, Most: 3, Columns: []doc.Column{{Row: true}}, Groups: make([]doc.Group, 1)}
	for range of.columns() {
		t.Columns = append(t.Columns, doc.Column{})
	}
	t.Columns = append(t.Columns, doc.Column{Verdict: true})
	for _, r := range of.Cost.rows() {
		row := doc.Row{Cells: []doc.Cell{{Text: r.Mode.ID}}}
		for _, text := range of.figures(r) {
			row.Cells = append(row.Cells, doc.Cell{Text: text})
		}
		if unmeasured(r.Mode) {
			row.For = doc.Pages
		}
		row.Cells = append(row.Cells, doc.Cell{Tone: r.tone(), Notes: r.notes(of.Cost.Scale), Terminal: r.judged()})
		t.Groups[0].Rows = append(t.Groups[0].Rows, row)
	}
	s := doc.Section{Head: doc.Heading{Name: of.Workload, Text: strings.Join(of.columns(), "; "), Depth: 1}, Blocks: []doc.Block{t}}
	for _, own := range of.processes() {
		s.Blocks = append(s.Blocks, doc.Paragraph{Text: "of it " + own.Mode + "'s own: " + own.Most, Depth: 1})
	}
	return s
}

// processList lists the CPU use of the modes' own processes.
func (b cpuCost) processList() []doc.Block {
	l := doc.List{Role: doc.Own, Tight: true}
	for _, own := range b.processes() {
		l.Items = append(l.Items, doc.Item{Name: own.Mode, Text: own.Text, Colon: true})
	}
	if len(l.Items) == 0 {
		return nil
	}
	return []doc.Block{doc.Paragraph{Role: doc.Own, Text: processesLegend}, l}
}

// pass is the pass at a fixed rate.
func (b *builder) pass(p pass) []doc.Block {
	s := doc.Section{ID: "pass", Look: doc.Metric, Head: doc.Heading{Text: "At a fixed rate"},
		Blocks: []doc.Block{doc.Paragraph{Text: p.Text, Tight: true, Depth: 1, Cut: mostGap}}}
	if p.ID != "" && p.Empty != "" {
		s.Blocks = append(s.Blocks, doc.Paragraph{Text: p.Empty, Depth: 1})
	}
	out := []doc.Block{s}
	for j, t := range p.costTables() {
		metric := b.metric(t, cpuCostAnchor(0, j), false)
		metric.Level = 4
		out = append(out, forPages(metric))
	}
	var carried []doc.Block
	for j, t := range p.carried() {
		metric := b.metric(t, fmt.Sprintf("r%d", j+1), false)
		metric.Level = 4
		metric.Blocks = metric.Blocks[1:] // all modes have the same value
		carried = append(carried, metric)
	}
	out = append(out, forMarkdown(carried...))
	if p.CPUCost != nil {
		out = append(out, forPages(p.CPUCost.processList()...), forTerminal(b.cpuCostTable(*p.CPUCost)))
	}
	if len(carried) > 0 {
		out = append(out, forHTML(doc.Details{Summary: "Rate carried", Blocks: carried}))
	}
	return append(out, forHTML(doc.Later(func() []doc.Block { return b.log(p.workload) })))
}
