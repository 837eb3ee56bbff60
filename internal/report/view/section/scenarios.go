package section

import (
	"fmt"
	"slices"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/warning"
	"tare/internal/wording"
)

// scenarioTable holds the scenarios whose workloads share a main metric.
type scenarioTable struct {
	Metric result.Metric
	Scale  wording.Scale
	Rows   []scenarioRow
}

// scenarioRow is a scenario with its row of the main metric.
type scenarioRow struct {
	model.Row
	Scenario result.Scenario
	Sent     *float64 // at the sender, in bit/s
	CPU      *float64 // busy share of the machine, 0..1
}

// scenariosOf groups the scenarios into tables, in the order of the study.
func scenariosOf(v model.View) []scenarioTable {
	var out []scenarioTable
	for _, s := range v.Run.Scenarios {
		r, metric := scenario(v, s)
		i := slices.IndexFunc(out, func(t scenarioTable) bool { return t.Metric.Name == metric.Name })
		if i < 0 {
			i = len(out)
			out = append(out, scenarioTable{Metric: metric})
		}
		out[i].Rows = append(out[i].Rows, r)
	}
	for i, t := range out {
		var values []float64
		for _, r := range t.Rows {
			if r.Cell != nil && r.Cell.Value != nil {
				values = append(values, *r.Cell.Value)
			}
		}
		out[i].Scale = wording.ScaleFor(t.Metric.Unit, values...)
	}
	return out
}

// scenario returns the row of a scenario and its metric. A scenario that is not in the run has
// a row, too.
func scenario(v model.View, s result.Scenario) (scenarioRow, result.Metric) {
	r := scenarioRow{Scenario: s, Row: model.Row{Mode: result.Mode{ID: s.Mode}}}
	for _, m := range v.Run.Modes {
		if m.ID == s.Mode {
			r.Mode = m
		}
	}
	for i := range v.Trials {
		if t := &v.Trials[i]; t.Mode == s.Mode && t.Workload == s.Workload && !t.Aside() {
			r.Trials = append(r.Trials, t)
		}
	}
	i := slices.IndexFunc(v.Workloads, func(w model.Workload) bool { return w.ID == s.Workload })
	if i < 0 || len(v.Workloads[i].Tables) == 0 {
		for _, w := range v.Run.Warnings {
			if w.Code == string(warning.WorkloadLeftOut) && w.Scope == s.Workload && !model.Unmeasured(r.Mode) {
				r.Mode.Status, r.Mode.Reason = result.ModeUnsupported, w.Text
			}
		}
		return r, result.Metric{}
	}
	tables := v.Workloads[i].Tables
	if own, ok := tables[0].Of(s.Mode); ok {
		r.Row, r.CPU = own, busy(own.Trials)
	}
	for _, t := range tables {
		if own, ok := t.Of(s.Mode); ok && t.Metric.Name == "send_rate" && own.Cell != nil {
			r.Sent = own.Cell.Value
		}
	}
	return r, tables[0].Metric
}

// busy is the share of the machine's CPU time that was not idle in valid trials, on average;
// nil where it was not recorded.
func busy(trials []*result.Trial) *float64 {
	sum, n := 0.0, 0
	for _, t := range trials {
		idle, known := t.Machine["cpu_idle"]
		if t.Status != result.TrialOK || !known {
			continue
		}
		used := t.Machine["cpu_user"] + t.Machine["cpu_system"] + t.Machine["cpu_irq"] + t.Machine["cpu_softirq"]
		all := used + idle + t.Machine["cpu_steal"]
		if share := used / all; share >= 0 && share <= 1 {
			sum, n = sum+share, n+1
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}

// sent and cpu report whether the table has a column for them.
func (t scenarioTable) sent() bool {
	return slices.ContainsFunc(t.Rows, func(r scenarioRow) bool { return r.Sent != nil })
}

func (t scenarioTable) cpu() bool {
	return slices.ContainsFunc(t.Rows, func(r scenarioRow) bool { return r.CPU != nil })
}

// heading is the main metric with its unit.
func (t scenarioTable) heading() string {
	if t.Metric.Name == "" {
		return "No value"
	}
	return model.Table{Metric: t.Metric, Scale: t.Scale}.Heading()
}

func (r scenarioRow) sentText(s wording.Scale) string {
	if r.Sent == nil {
		return wording.Unknown
	}
	return s.Number(*r.Sent)
}

func (r scenarioRow) cpuText() string {
	if r.CPU == nil {
		return wording.Unknown
	}
	return wording.Percent(*r.CPU)
}

// what describes a scenario: "Containers on two hosts: docker/bridge with tcp_stream".
func (r scenarioRow) what() string {
	text := r.Mode.ID + " with " + r.Scenario.Workload
	if l := model.LimitsText(r.Mode); l != "" {
		text += ", limited to " + l
	}
	if r.Scenario.Title != "" {
		text = r.Scenario.Title + ": " + text
	}
	return text
}

// Scenarios are the scenarios of the study, and what each carried.
func Scenarios(b *model.Builder) []doc.Block {
	all := scenariosOf(b.View)
	if len(all) == 0 {
		return nil
	}
	l := doc.List{Labels: true}
	widest := 0
	for _, t := range all {
		for _, r := range t.Rows {
			widest = max(widest, wording.Width(r.Scenario.ID))
			l.Items = append(l.Items, doc.Item{Name: r.Scenario.ID, Text: r.what()})
		}
	}
	blocks := []doc.Block{piece.ForTerminal(l)}
	for _, t := range all {
		blocks = append(blocks, tableOfScenarios(b, t, widest))
	}
	return []doc.Block{doc.Section{ID: "scenarios", Head: doc.Heading{Text: "Scenarios"}, Nav: "Scenarios", Blocks: blocks}}
}

func tableOfScenarios(b *model.Builder, t scenarioTable, widest int) doc.Table {
	ratios := slices.ContainsFunc(t.Rows, func(r scenarioRow) bool { return r.Cell != nil && r.Cell.Ratio != nil })
	out := doc.Table{Kind: doc.Study, By: "scenarios", Headed: true, Most: 4, Least: widest, Groups: make([]doc.Group, 1), Columns: []doc.Column{
		{Head: "Scenario", Row: true, Names: true},
		{For: doc.HTML, Unheaded: true},
		{Head: t.heading(), Note: piece.WithInterval, Number: true},
	}}
	add := func(is bool, c doc.Column) {
		if is {
			out.Columns = append(out.Columns, c)
		}
	}
	add(t.sent(), doc.Column{Head: "Sent", Plain: "sent", Number: true})
	add(t.cpu(), doc.Column{Head: "CPU", Title: piece.CPULegend, Number: true})
	add(ratios, doc.Column{For: doc.HTML, Head: "Ratio", Note: piece.WithInterval, Number: true})
	add(true, doc.Column{Head: "Verdict", Verdict: true})
	for _, r := range t.Rows {
		verdict := r.VerdictCell(t.Scale)
		verdict.Terminal = b.TerminalVerdict(r.Row, r.Verdict())
		what := doc.Scenario{Title: r.Scenario.Title, Description: r.Scenario.Description, Mode: r.Mode.ID, Workload: r.Scenario.Workload, Limits: model.LimitsText(r.Mode)}
		if i := slices.IndexFunc(b.Run.Modes, func(m result.Mode) bool { return m.ID == r.Mode.ID }); i >= 0 {
			what.To = fmt.Sprintf("m%d", i)
		}
		row := doc.Row{Out: model.Unmeasured(r.Mode) || r.Cell == nil, Lead: 2, Cells: []doc.Cell{
			{Text: r.Scenario.ID}, {Scenario: &what}, {Text: r.Value(t.Scale)},
		}}
		if t.sent() {
			row.Cells = append(row.Cells, doc.Cell{Text: r.sentText(t.Scale)})
		}
		if t.cpu() {
			row.Cells = append(row.Cells, doc.Cell{Text: r.cpuText()})
		}
		if ratios {
			row.Cells = append(row.Cells, doc.Cell{Text: r.Ratio()})
		}
		row.Cells = append(row.Cells, verdict)
		out.Groups[0].Rows = append(out.Groups[0].Rows, row)
	}
	return out
}
