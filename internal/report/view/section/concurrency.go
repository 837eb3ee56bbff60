package section

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/report/view/sheet"
	"tare/internal/result"
	"tare/internal/wording"
)

// sentences say where the curves of two modes cross.
func sentences(c model.Concurrency) []string {
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
			x.A, faster, x.B, at, countText(x.CI[0]), countText(x.CI[1]), c.Unit(at), below, x.Below.Count, slower, above, x.Above.Count))
	}
	return out
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

// Concurrencies are, for each workload at several numbers of flows or streams, its table,
// its curves and where they cross.
func Concurrencies(b *model.Builder) []doc.Block {
	var out []doc.Block
	for i, c := range b.Concurrencies {
		id := fmt.Sprintf("concurrency%d", i)
		what := piece.Noun(c.Tables[0].Metric) + " by " + c.Key
		caption := c.Tables[0].Metric.Title
		if c.Scale.Unit != "" {
			caption += " in " + c.Scale.Unit
		}
		caption += ", with its 95 % interval"
		t, g := tables(c, id, caption)
		drawn := sync.OnceValue(func() []doc.Block { return charts(c, id) })
		blocks := []doc.Block{piece.ForHTML(doc.Later(drawn)), piece.ForHTML(t), piece.ForTerminal(g)}
		if len(c.Modes) > 1 {
			blocks = append(blocks, crossings(c, b.Run.NoisyIn(c.Steps[0].Workload)))
		}
		out = append(out, doc.Section{ID: id, Nav: c.Workload + ": " + what,
			Head:   doc.Heading{Name: c.Workload, Text: what, Terminal: what + ", " + c.Scale.Unit + "; one row for each number of " + c.Key + ", one column for each mode"},
			Blocks: blocks})
	}
	return out
}

// crossings are the sentences about crossings, or that there is none.
func crossings(c model.Concurrency, noisy bool) doc.Block {
	all := sentences(c)
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
func tables(c model.Concurrency, id, caption string) (doc.Table, doc.Grid) {
	t := doc.Table{Kind: doc.Sweep, By: id, Caption: caption, Columns: []doc.Column{{Head: piece.Capital(c.Key), Row: true, Number: true}}, Groups: make([]doc.Group, 1)}
	g := doc.Grid{Uncut: true}
	for i, s := range c.Steps {
		n := strconv.Itoa(s.Count)
		g.Names = append(g.Names, n)
		row := doc.Row{Cells: []doc.Cell{{Text: n}}}
		for _, m := range c.Modes {
			r, _ := c.Tables[i].Of(m.Mode.ID)
			row.Cells = append(row.Cells, doc.Cell{Text: r.Value(c.Scale)})
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
func charts(c model.Concurrency, id string) []doc.Block {
	var blocks []doc.Block
	for i, s := range []sheet.WorkloadChart{values(c), ratios(c)} {
		if s.Plane.Has() {
			blocks = append(blocks, s.Figure(fmt.Sprintf("%s-g%d", id, i+1), c.Workload, nil))
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	return []doc.Block{doc.Beside{Single: len(blocks) == 1, Blocks: blocks}}
}

// axis is the number of flows or streams, on a logarithmic scale.
func axis(c model.Concurrency) chart.Dim {
	x := chart.Dim{Log: true, Label: "number of " + c.Key + ", log scale"}
	for _, s := range c.Steps {
		x.Ticks = append(x.Ticks, chart.Tick{At: float64(s.Count), Label: strconv.Itoa(s.Count)})
	}
	return x
}

// flags mark the crossings that are within the axis.
func flags(c model.Concurrency) []chart.Flag {
	var out []chart.Flag
	first, last := float64(c.Steps[0].Count), float64(c.Steps[len(c.Steps)-1].Count)
	for i, text := range sentences(c) {
		if x := c.Crossings[i]; i < mostCrossings && x.At >= first && x.At <= last {
			out = append(out, chart.Flag{X: x.At, Tip: text})
		}
	}
	return out
}

// values draws the means of all modes in one plot.
func values(c model.Concurrency) sheet.WorkloadChart {
	p := sheet.NewCurves(c.Tables[0].Metric.Title + ", " + c.Scale.Unit)
	for _, m := range c.Modes {
		line, words := chart.Line{}, ""
		for i, t := range c.Tables {
			r, _ := t.Of(m.Mode.ID)
			if r.Cell == nil || !piece.Finite(r.Cell.Value) {
				continue
			}
			v := *r.Cell.Value
			p.Spans(v, v)
			line.Points = append(line.Points, chart.XY{X: float64(c.Steps[i].Count), Y: c.Scale.In(v)})
			words += fmt.Sprintf(" %s at %d", c.Scale.Value(v), c.Steps[i].Count)
		}
		if len(line.Points) == 0 {
			p.Absent++
			continue
		}
		p.Draw(m, line, words)
	}
	p.Lane.Flags = flags(c)
	caption := "A line joins the means of a mode at each number of " + c.Key + "."
	if len(p.Lane.Flags) > 0 {
		caption += " The dotted vertical lines are the crossings."
	}
	out := p.Drawn(axis(c), caption, "")
	out.Plane.X.Label = axis(c).Label
	return out
}

// ratios draws the ratio of each mode to its baseline with its interval, one lane for each.
func ratios(c model.Concurrency) sheet.WorkloadChart {
	out := sheet.WorkloadChart{Plane: chart.Plane{Title: "Ratio to the baseline", X: axis(c), Tall: 66}}
	for _, m := range c.Modes {
		l := chart.Lane{Label: m.Mode.ID, Group: m.No, Levels: []float64{1}}
		line := chart.Line{Key: -1}
		for i, t := range c.Tables {
			r, _ := t.Of(m.Mode.ID)
			if r.Cell == nil || !piece.Finite(r.Cell.Ratio) {
				continue
			}
			x := float64(c.Steps[i].Count)
			line.Points = append(line.Points, chart.XY{X: x, Y: *r.Cell.Ratio})
			l.Spots = append(l.Spots, chart.Spot{X: x, Y: *r.Cell.Ratio, Tip: fmt.Sprintf("%d %s: %s", c.Steps[i].Count, c.Unit(strconv.Itoa(c.Steps[i].Count)), wording.Ratio(r.Cell.Ratio, r.Cell.RatioCI))})
			if ci := r.Cell.RatioCI; ci != nil && piece.Finite(&ci[0]) && piece.Finite(&ci[1]) {
				l.Bands = append(l.Bands, chart.Reach{X: x, Lo: ci[0], Hi: ci[1]})
			}
		}
		if len(line.Points) == 0 {
			continue
		}
		l.Lines, l.Note = []chart.Line{line}, "by "+wording.Cut(m.Mode.Baseline, 40)
		out.Plane.Lanes = append(out.Plane.Lanes, l)
		out.Desc += wording.Cut(m.Mode.ID, 60) + " " + piece.OrText(c.Words(m.Mode.ID), "has no ratio") + ". "
	}
	out.Caption = "The ratio of each mode to its baseline at each number of " + c.Key + "; the band is its 95 % interval, the horizontal line a ratio of 1."
	out.Desc = wording.Cut(out.Desc, 1500)
	return out
}
