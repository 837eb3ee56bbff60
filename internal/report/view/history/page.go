package history

import (
	"fmt"
	"slices"
	"strconv"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/wording"
)

// pages is what pages show behind the answer: for each metric the drawings and a table, then the
// environment, the runs and what is left out.
func (v *historyView) pages() []doc.Block {
	var out []doc.Block
	drawn := v.drawn()
	for i, k := range v.keys() {
		s := doc.Section{ID: fmt.Sprintf("metric-%d", i+1), Head: doc.Heading{Name: k.workload, Text: piece.Noun(k.metric)}}
		if d := piece.Direction(k.metric); d != "" {
			s.Head.Small = "ratio to the baseline, " + d
		}
		if piece.MetricClass(k.metric) < 3 {
			s.Nav = wording.Cut(k.workload+": "+piece.Noun(k.metric), 60)
		}
		var figures []doc.Block
		for n, f := range k.figures() {
			if drawn[f.key()] {
				figures = append(figures, v.figure(f, fmt.Sprintf("history-%d-%d", i+1, n+1)))
			}
		}
		if len(figures) > 0 {
			blocks := []doc.Block{doc.Beside{Blocks: figures}}
			if i == 0 {
				blocks = []doc.Block{doc.Paragraph{Role: doc.Legend, Text: historyLegend}, blocks[0]}
			}
			s.Blocks = append(s.Blocks, doc.Only{For: doc.HTML, Blocks: blocks})
		}
		s.Blocks = append(s.Blocks, v.table(k, s.ID))
		out = append(out, s)
	}
	for _, t := range []struct {
		id, title, what string
		table           *doc.Table
	}{
		{"environment", "Changes of the environment", "Between one run and the next on the same machine.", v.environment()},
		{"runs", "Runs", "", v.runTable()},
		{"left-out", "Left out", "Runs that are not in the history.", v.leftOutTable()},
	} {
		if t.table == nil {
			continue
		}
		s := doc.Section{ID: t.id, Head: doc.Heading{Text: t.title}, Nav: t.title}
		if t.what != "" {
			s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Legend, Text: t.what})
		}
		if t.id == "runs" {
			l := doc.List{Role: doc.Lost}
			for i, m := range v.Machines {
				if facts := piece.FactsInLine(m.Facts); facts != "" {
					l.Items = append(l.Items, doc.Item{Name: v.machine(i), Text: facts, Colon: true})
				}
			}
			if len(l.Items) > 0 {
				s.Blocks = append(s.Blocks, l)
			}
		}
		t.table.By = t.id
		s.Blocks = append(s.Blocks, *t.table)
		out = append(out, s)
	}
	return []doc.Block{doc.Only{For: doc.Pages, Blocks: out}}
}

// historyFigure is the series of one mode and metric, of each machine.
type historyFigure []*historySeries

func (f historyFigure) key() string {
	return f[0].Mode + "\x00" + f[0].Baseline + "\x00" + f[0].Workload + "\x00" + f[0].metric.Name
}

// figures are those of a metric in the order of their modes.
func (k historyKey) figures() []historyFigure {
	var out []historyFigure
	at := map[[2]string]int{}
	for _, s := range k.series {
		name := [2]string{s.Mode, s.Baseline}
		i, known := at[name]
		if !known {
			i = len(out)
			at[name], out = i, append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out
}

// drawn are the figures that a page has, by their keys.
func (v *historyView) drawn() map[string]bool {
	out, points := map[string]bool{}, 0
	for _, changed := range []bool{true, false} {
		for _, k := range v.keys() {
			for _, f := range k.figures() {
				has := slices.ContainsFunc(f, func(s *historySeries) bool { return len(s.Changes) > 0 })
				if has != changed || len(out) == mostHistoryFigures {
					continue
				}
				n := 0
				for _, s := range f {
					n += len(s.Points)
				}
				if points += n; points <= mostDrawn || len(out) == 0 {
					out[f.key()] = true
				}
			}
		}
	}
	return out
}

// table is a row for each series of a metric.
func (v *historyView) table(k historyKey, by string) doc.Table {
	several := len(v.Machines) > 1
	t := doc.Table{Kind: doc.Figures, By: by, Columns: []doc.Column{{Head: "Mode", Row: true, Names: true, Strong: true}, {Head: "Baseline", Names: true}}, Groups: []doc.Group{{}}}
	if several {
		t.Columns = append(t.Columns, doc.Column{Head: "Machine", Names: true})
	}
	t.Columns = append(t.Columns, doc.Column{Head: "Runs", Number: true}, doc.Column{Head: "First", Number: true}, doc.Column{Head: "Last", Number: true},
		doc.Column{Head: "Spread", Title: "relative standard deviation from run to run, between changes", Number: true}, doc.Column{Head: "Changes", Verdict: true})
	for _, s := range k.series {
		row := doc.Row{Cells: []doc.Cell{{Text: s.Mode}, {Text: s.Baseline}}}
		if several {
			row.Cells = append(row.Cells, doc.Cell{Text: v.machine(s.machine)})
		}
		verdict := doc.Cell{Tone: chart.Plain, Text: "none found"}
		for n, f := range v.of(s) {
			if text := f.words() + " " + v.since(f); n == 0 {
				verdict = doc.Cell{Tone: f.tone(), Text: text}
			} else {
				verdict.Notes = append(verdict.Notes, text)
			}
		}
		row.Cells = append(row.Cells, doc.Cell{Text: strconv.Itoa(len(s.Points))}, doc.Cell{Text: s.first()}, doc.Cell{Text: s.last()}, doc.Cell{Text: s.spread()}, verdict)
		t.Groups[0].Rows = append(t.Groups[0].Rows, row)
	}
	return t
}

// of are the changes of a series, the last one first.
func (v *historyView) of(s *historySeries) []historyFound {
	var out []historyFound
	for _, c := range slices.Backward(s.Changes) {
		out = append(out, historyFound{s, c, &s.of.Runs[s.Points[c.Point].Run]})
	}
	return out
}

func (v *historyView) environment() *doc.Table {
	if len(v.marks) == 0 {
		return nil
	}
	t := piece.Plain("No", "Started", "Machine", "Run", "What changed")
	for i, m := range v.marks {
		r := v.run(m)
		piece.AddRow(t, strconv.Itoa(i+1), v.date(r.Started), v.machine(m.machine), runName(r), m.text)
	}
	return t
}

func (v *historyView) runTable() *doc.Table {
	if v.runs() == 0 {
		return nil
	}
	t := piece.Plain("Started", "Run", "Machine", "tare", "Note")
	t.Columns[3].Kept = true
	for i, m := range v.Machines {
		for j, r := range m.Runs {
			piece.AddRow(t, wording.Time(r.Started), runName(&m.Runs[j]), v.machine(i), piece.OrUnknown(r.Build.Version), r.Note)
		}
	}
	return t
}

func (v *historyView) leftOutTable() *doc.Table {
	if len(v.LeftOut) == 0 {
		return nil
	}
	t := piece.Plain("Run", "Reason")
	for i, l := range v.LeftOut {
		if i == mostHistoryLeftOut {
			piece.AddRow(t, fmt.Sprintf("%d more", len(v.LeftOut)-i), "")
			break
		}
		piece.AddRow(t, wording.CutMiddle(piece.OrText(l.Path, l.ID), 120), piece.OrText(l.Reason, "no reason is recorded"))
	}
	return t
}
