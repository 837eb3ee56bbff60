package view

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// concurrency is a workload at several numbers of flows or streams, with the tables of its
// main metric: one for each number.
type concurrency struct {
	result.Concurrency
	Tables []table
	Scale  wording.Scale
	Modes  []row // of the first table, those that were measured
}

// concurrenciesOf are those of a run of which at least two numbers have a table.
func concurrenciesOf(run result.Run, ws []workload) []concurrency {
	var out []concurrency
	for _, c := range run.Concurrencies {
		found := concurrency{Concurrency: c}
		found.Steps = nil
		var values []float64
		for _, s := range c.Steps {
			w := slices.IndexFunc(ws, func(w workload) bool { return w.ID == s.Workload })
			if w < 0 || s.Count < 1 {
				continue
			}
			for _, t := range ws[w].Tables {
				if t.Metric.Name != c.Metric {
					continue
				}
				found.Steps, found.Tables = append(found.Steps, s), append(found.Tables, t)
				for _, r := range t.rows() {
					if r.Cell != nil && finite(r.Cell.Value) {
						values = append(values, *r.Cell.Value)
					}
				}
			}
		}
		if len(found.Tables) < 2 {
			continue
		}
		found.Scale = wording.ScaleFor(found.Tables[0].Metric.Unit, values...)
		found.Modes = slices.DeleteFunc(slices.Clone(found.Tables[0].rows()), func(r row) bool { return unmeasured(r.Mode) })
		found.Crossings = slices.DeleteFunc(slices.Clone(c.Crossings), func(x result.Crossing) bool { return !found.shown(x.A) || !found.shown(x.B) })
		out = append(out, found)
	}
	return out
}

// curve is the metric of which a workload shows one value of a sweep; false for a workload
// of another kind.
func (v view) curve(id string) (metric string, ok bool) {
	for _, c := range v.Concurrencies {
		if slices.ContainsFunc(c.Steps, func(s result.ConcurrencyStep) bool { return s.Workload == id }) {
			return c.Metric, true
		}
	}
	before, _, ok := strings.Cut(id, "@")
	ok = ok && slices.ContainsFunc(v.Sweeps, func(s sweep) bool { return s.ID == before })
	return "loss_ratio", ok
}

// unit is the word for a number: flow or flows, stream or streams.
func (c concurrency) unit(n string) string {
	if n == "1" {
		return strings.TrimSuffix(c.Key, "s")
	}
	return c.Key
}

// words describes a mode at the lowest and the highest number at which it has a ratio to its
// baseline, or else a value; empty if there are not two of them.
func (c concurrency) words(mode string) string {
	var at []string
	compared := ""
	for i, t := range c.Tables {
		r, ok := t.of(mode)
		if !ok || r.Cell == nil {
			continue
		}
		n := strconv.Itoa(c.Steps[i].Count)
		switch {
		case r.Cell.Ratio != nil && r.Cell.Baseline != "":
			if compared == "" {
				at, compared = nil, r.Cell.Baseline
			}
			at = append(at, wording.Ratio(r.Cell.Ratio, r.Cell.RatioCI)+" of it at "+n+" "+c.unit(n))
		case compared == "" && finite(r.Cell.Value):
			at = append(at, c.Scale.Value(*r.Cell.Value)+" at "+n+" "+c.unit(n))
		}
	}
	if len(at) < 2 {
		return ""
	}
	text := at[0] + " and " + at[len(at)-1] + " in " + c.Workload
	noun := noun(c.Tables[0].Metric)
	if compared == "" {
		return "has a " + noun + " of " + text
	}
	return "reaches " + strings.Replace(text, "of it", "of "+compared+"'s "+noun, 1)
}

// sentences say where the curves of two modes cross.
func (c concurrency) sentences() []string {
	var out []string
	for _, x := range c.Crossings {
		below, _ := wording.Delta(&x.Below.Ratio, nil)
		above, _ := wording.Delta(&x.Above.Ratio, nil)
		faster, slower := "faster", "slower"
		if c.Tables[0].Metric.Better == result.Lower {
			faster, slower = "better", "worse"
		}
		at := countText(x.At)
		out = append(out, fmt.Sprintf("%s is %s than %s below about %s (%s to %s) %s (%s at %d), and %s above (%s at %d).",
			x.A, faster, x.B, at, countText(x.CI[0]), countText(x.CI[1]), c.unit(at), below, x.Below.Count, slower, above, x.Above.Count))
	}
	return out
}

func (c concurrency) shown(mode string) bool {
	return slices.ContainsFunc(c.Modes, func(r row) bool { return r.Mode.ID == mode })
}

// countText is a number of flows or streams that need not be whole, with two digits.
func countText(x float64) string {
	if x < 9.95 {
		return strings.TrimSuffix(wording.Fixed(x, 1), ".0")
	}
	return wording.Fixed(x, 0)
}

// mostCrossings is how many sentences about crossings a report has.
const mostCrossings = 20

// concurrencies are, for each workload at several numbers of flows or streams, its table,
// its curves and where they cross.
func (b *builder) concurrencies() []doc.Block {
	var out []doc.Block
	for i, c := range b.Concurrencies {
		id := fmt.Sprintf("concurrency%d", i)
		what := noun(c.Tables[0].Metric) + " by " + c.Key
		caption := c.Tables[0].Metric.Title
		if c.Scale.Unit != "" {
			caption += " in " + c.Scale.Unit
		}
		caption += ", with its 95 % interval"
		t, g := c.tables(id, caption)
		drawn := sync.OnceValue(func() []doc.Block { return c.charts(id) })
		blocks := []doc.Block{forMarkdown(doc.Paragraph{Text: caption + "."}), forHTML(doc.Later(drawn)), forPages(t), forTerminal(g)}
		if len(c.Modes) > 1 {
			blocks = append(blocks, c.crossings(b.Run.NoisyIn(c.Steps[0].Workload)))
		}
		out = append(out, doc.Section{ID: id, Nav: c.Workload + ": " + what,
			Head:   doc.Heading{Name: c.Workload, Text: what, Terminal: what + ", " + c.Scale.Unit + "; one row for each number of " + c.Key + ", one column for each mode"},
			Blocks: blocks})
	}
	return out
}

// crossings are the sentences about crossings, or that there is none.
func (c concurrency) crossings(noisy bool) doc.Block {
	all := c.sentences()
	l := doc.List{}
	for _, text := range all[:min(len(all), mostCrossings)] {
		l.Items = append(l.Items, doc.Item{Text: text})
	}
	if more := len(all) - len(l.Items); more > 0 {
		l.Items = append(l.Items, doc.Item{Text: fmt.Sprintf("%d further crossings are in run.json.", more)})
	}
	switch {
	case len(all) > 0:
		return l
	case noisy:
		return doc.Paragraph{Role: doc.Seen, Text: "The run is too noisy to tell whether curves cross.", Depth: 1}
	}
	return doc.Paragraph{Role: doc.Seen, Text: "No two curves are shown to cross.", Depth: 1}
}

// tables are the values, for pages and for a terminal.
func (c concurrency) tables(id, caption string) (doc.Table, doc.Grid) {
	t := doc.Table{Kind: doc.Sweep, By: id, Caption: caption, Columns: []doc.Column{{Head: capital(c.Key), Row: true, Number: true}}, Groups: make([]doc.Group, 1)}
	g := doc.Grid{Uncut: true}
	for i, s := range c.Steps {
		n := strconv.Itoa(s.Count)
		g.Names = append(g.Names, n)
		row := doc.Row{Cells: []doc.Cell{{Text: n}}}
		for _, m := range c.Modes {
			r, _ := c.Tables[i].of(m.Mode.ID)
			row.Cells = append(row.Cells, doc.Cell{Text: r.value(c.Scale)})
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, row)
	}
	for j, m := range c.Modes {
		t.Columns = append(t.Columns, doc.Column{Head: m.Mode.ID, Foreign: true, Number: true})
		column := doc.GridColumn{Head: m.Mode.ID}
		for _, r := range t.Groups[0].Rows {
			column.Cells = append(column.Cells, r.Cells[j+1].Text)
		}
		g.Columns = append(g.Columns, column)
	}
	return t, g
}

// charts are the curves of the values and those of the ratios to the baseline.
func (c concurrency) charts(id string) []doc.Block {
	var blocks []doc.Block
	for i, s := range []workloadChart{c.values(), c.ratios()} {
		if s.Plane.Has() {
			blocks = append(blocks, s.figure(fmt.Sprintf("%s-g%d", id, i+1), c.Workload, nil))
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	return []doc.Block{doc.Beside{Single: len(blocks) == 1, Blocks: blocks}}
}

// axis is the number of flows or streams, on a logarithmic scale.
func (c concurrency) axis() chart.Dim {
	x := chart.Dim{Log: true, Label: "number of " + c.Key + ", log scale"}
	for _, s := range c.Steps {
		x.Ticks = append(x.Ticks, chart.Tick{At: float64(s.Count), Label: strconv.Itoa(s.Count)})
	}
	return x
}

// flags mark the crossings that are within the axis.
func (c concurrency) flags() []chart.Flag {
	var out []chart.Flag
	first, last := float64(c.Steps[0].Count), float64(c.Steps[len(c.Steps)-1].Count)
	for i, text := range c.sentences() {
		if x := c.Crossings[i]; i < mostCrossings && x.At >= first && x.At <= last {
			out = append(out, chart.Flag{X: x.At, Tip: text})
		}
	}
	return out
}

// values draws the means of all modes in one plot.
func (c concurrency) values() workloadChart {
	p := newCurves(c.Tables[0].Metric.Title + ", " + c.Scale.Unit)
	for _, m := range c.Modes {
		line, words := chart.Line{}, ""
		for i, t := range c.Tables {
			r, _ := t.of(m.Mode.ID)
			if r.Cell == nil || !finite(r.Cell.Value) {
				continue
			}
			v := *r.Cell.Value
			p.spans(v, v)
			line.Points = append(line.Points, chart.XY{X: float64(c.Steps[i].Count), Y: c.Scale.In(v)})
			words += fmt.Sprintf(" %s at %d", c.Scale.Value(v), c.Steps[i].Count)
		}
		if len(line.Points) == 0 {
			p.absent++
			continue
		}
		p.draw(m, line, words)
	}
	p.lane.Flags = c.flags()
	caption := "A line joins the means of a mode at each number of " + c.Key + "."
	if len(p.lane.Flags) > 0 {
		caption += " The dotted vertical lines are the crossings."
	}
	out := p.drawn(c.axis(), caption, "")
	out.Plane.X.Label = c.axis().Label
	return out
}

// ratios draws the ratio of each mode to its baseline with its interval, one lane for each.
func (c concurrency) ratios() workloadChart {
	out := workloadChart{Plane: chart.Plane{Title: "Ratio to the baseline", X: c.axis(), Tall: 66}}
	for _, m := range c.Modes {
		l := chart.Lane{Label: m.Mode.ID, Group: m.No, Levels: []float64{1}}
		line := chart.Line{Key: -1}
		for i, t := range c.Tables {
			r, _ := t.of(m.Mode.ID)
			if r.Cell == nil || !finite(r.Cell.Ratio) {
				continue
			}
			x := float64(c.Steps[i].Count)
			line.Points = append(line.Points, chart.XY{X: x, Y: *r.Cell.Ratio})
			l.Spots = append(l.Spots, chart.Spot{X: x, Y: *r.Cell.Ratio, Tip: fmt.Sprintf("%d %s: %s", c.Steps[i].Count, c.unit(strconv.Itoa(c.Steps[i].Count)), wording.Ratio(r.Cell.Ratio, r.Cell.RatioCI))})
			if ci := r.Cell.RatioCI; ci != nil && finite(&ci[0]) && finite(&ci[1]) {
				l.Bands = append(l.Bands, chart.Reach{X: x, Lo: ci[0], Hi: ci[1]})
			}
		}
		if len(line.Points) == 0 {
			continue
		}
		l.Lines, l.Note = []chart.Line{line}, "by "+wording.Cut(m.Mode.Baseline, 40)
		out.Plane.Lanes = append(out.Plane.Lanes, l)
		out.Desc += wording.Cut(m.Mode.ID, 60) + " " + orText(c.words(m.Mode.ID), "has no ratio") + ". "
	}
	out.Caption = "The ratio of each mode to its baseline at each number of " + c.Key + "; the band is its 95 % interval, the horizontal line a ratio of 1."
	out.Desc = wording.Cut(out.Desc, 1500)
	return out
}

// fitCrossings returns the curves without crossings of modes that were not measured and
// without those that cannot be drawn.
func fitCrossings(all []result.Concurrency, unfit map[string]bool) []result.Concurrency {
	return each(all, func(c result.Concurrency) result.Concurrency {
		c.Crossings = slices.DeleteFunc(slices.Clone(c.Crossings), func(x result.Crossing) bool {
			for _, v := range []float64{x.At, x.CI[0], x.CI[1], x.Below.Ratio, x.Above.Ratio} {
				if !(v > 0) || math.IsInf(v, 1) {
					return true
				}
			}
			return unfit[x.A] || unfit[x.B]
		})
		return c
	})
}
