package section

import (
	"cmp"
	"fmt"
	"slices"
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

// sweepChart draws the loss of a sweep over its loads, one lane for each mode: every trial, and the
// mean of each load. False where there is nothing to draw.
func sweepChart(s model.Sweep, v model.View) (sheet.WorkloadChart, bool) {
	out := sheet.WorkloadChart{Plane: chart.Plane{Title: "Loss over load", Tall: 66}}
	type load struct {
		rate float64
		t    model.Table
	}
	var loads []load
	var rates []float64
	for _, w := range v.Workloads {
		if before, _, ok := strings.Cut(w.ID, "@"); !ok || before != s.ID {
			continue
		}
		for _, t := range w.Tables {
			if rate := rate(t); t.Metric.Name == "loss_ratio" && rate > 0 {
				loads, rates = append(loads, load{rate, t}), append(rates, rate)
			}
		}
	}
	if len(loads) < 2 {
		return out, false
	}
	slices.SortStableFunc(loads, func(a, b load) int { return cmp.Compare(a.rate, b.rate) })
	scale, zero := wording.ScaleFor("bit/s", rates...), 0.0
	out.Plane.X = chart.Dim{Lo: &zero, Label: "offered load, payload, " + scale.Unit}
	out.Plane.Y = chart.Dim{Ticks: chart.LossTicks(), Kind: chart.LossKind, Lo: &zero, Hi: new(chart.LossAt(0.1))}
	rows := loads[0].t.Rows()
	most, cut := max(40, sheet.MostSpots/len(rows)), false
	for _, r := range rows {
		l := chart.Lane{Label: r.Mode.ID, Group: r.No}
		if model.Unmeasured(r.Mode) {
			l.Tone, l.Note, l.Absent = chart.Absent, model.State(r.Mode), piece.OrText(r.Mode.Reason, model.State(r.Mode))
			out.Plane.Lanes = append(out.Plane.Lanes, l)
			continue
		}
		line := chart.Line{Key: -1}
		for _, at := range loads {
			own, _ := at.t.Of(r.Mode.ID)
			for _, trial := range own.Trials {
				if x, ok := trial.Metrics["loss_ratio"]; ok && trial.Status == result.TrialOK && piece.Finite(&x) {
					l.Spots = append(l.Spots, chart.Spot{X: scale.In(at.rate), Y: chart.LossAt(x), No: trial.Block, Tip: fmt.Sprintf("block %d, %s: %s", trial.Block, scale.Value(at.rate), piece.Loss(x))})
				}
			}
			if own.Cell != nil && piece.Finite(own.Cell.Value) {
				line.Points = append(line.Points, chart.XY{X: scale.In(at.rate), Y: chart.LossAt(*own.Cell.Value)})
			}
		}
		if cut = cut || len(l.Spots) > most; len(l.Spots) == 0 {
			l.Tone, l.Absent = chart.Absent, "no valid trial"
		}
		l.Spots, l.Lines = piece.Downsampled(l.Spots, most), []chart.Line{line}
		out.Plane.Lanes = append(out.Plane.Lanes, l)
		out.Desc += wording.Cut(r.Mode.ID, 60) + " " + piece.OrText(s.Words(r.Mode.ID), "has no value") + ". "
	}
	out.Caption = "A dot is a trial, the line the mean at each load, on a scale that is logarithmic above 0."
	if cut {
		out.Caption += fmt.Sprintf(" At most %d trials of a mode are drawn.", most)
	}
	out.Desc = wording.Cut(out.Desc, 1500)
	return out, out.Plane.Has()
}

// rate is the offered payload of a table's trials, bit/s; 0 where it is unknown.
func rate(t model.Table) float64 {
	for _, r := range t.Rows() {
		for _, trial := range r.Trials {
			if piece.Finite(&trial.Rate) && trial.Rate > 0 {
				return trial.Rate
			}
		}
	}
	return 0
}

// Sweeps are a table for each sweep: one row for each load, one column for each mode.
func Sweeps(b *model.Builder) []doc.Block {
	var out []doc.Block
	for i, s := range b.Sweeps {
		id := fmt.Sprintf("sweep%d", i)
		const caption = "Loss ratio in percent, with its 95 % interval"
		t := doc.Table{Kind: doc.Sweep, By: id, Caption: caption, Columns: []doc.Column{{Head: "Load", Row: true, Number: true}}, Groups: make([]doc.Group, 1)}
		g := doc.Grid{Uncut: true}
		for c, mode := range s.Modes {
			t.Columns = append(t.Columns, doc.Column{Head: mode, Foreign: true, Number: true})
			column := doc.GridColumn{Head: mode}
			for _, r := range s.Rows {
				column.Cells = append(column.Cells, r.Loss[c])
			}
			g.Columns = append(g.Columns, column)
		}
		for _, r := range s.Rows {
			g.Names = append(g.Names, r.Rate)
			row := doc.Row{Cells: []doc.Cell{{Text: r.Rate}}}
			for _, text := range r.Loss {
				row.Cells = append(row.Cells, doc.Cell{Text: text})
			}
			t.Groups[0].Rows = append(t.Groups[0].Rows, row)
		}
		drawn := sync.OnceValue(func() []doc.Block {
			c, ok := sweepChart(s, b.View)
			if !ok {
				return nil
			}
			return []doc.Block{doc.Beside{Single: true, Blocks: []doc.Block{c.Figure(id+"-g", s.ID, nil)}}}
		})
		out = append(out, doc.Section{ID: id, Nav: s.ID + ": loss by load",
			Head:   doc.Heading{Name: s.ID, Text: "loss by load", Terminal: "loss ratio, %; one row for each load, one column for each mode"},
			Blocks: []doc.Block{piece.ForHTML(doc.Later(drawn)), piece.ForHTML(t), piece.ForTerminal(g)}})
	}
	return out
}
