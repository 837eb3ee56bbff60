package view

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
)

// charts are the charts of a workload: its trials over time, the rate within them, percentiles
// and loss over load.
func (b *builder) charts(w workload, anchor string) []doc.Block {
	var out []doc.Block
	add := func(s workloadChart, behind *doc.Table) {
		out = append(out, s.figure(fmt.Sprintf("%s-g%d", anchor, len(out)+1), w.ID, behind))
	}
	if len(w.Tables) > 0 {
		main := w.Tables[0]
		if s, ok := main.timeline(b.begin); ok {
			add(s, nil) // the table of trials is behind it
		}
		if t, ok := main.timedOf(mostSlots); ok {
			coarse, _ := main.timedOf(mostTimes)
			add(t.chart(), coarse.tableOf().table())
		}
	}
	for _, c := range w.percentileCurves() {
		add(c.chart(), c.tableOf().table())
	}
	if s, ok := w.lossCurve(); ok {
		add(s, nil) // the tables of the search are behind it
	}
	return out
}

// mostTimes is how many time slots the table behind a series has.
const mostTimes = 12

// figure is a chart with the table behind it, nil where that is elsewhere.
func (s workloadChart) figure(id, workload string, behind *doc.Table) doc.Figure {
	f := doc.Figure{Look: doc.Shown, ID: id, Caption: s.Caption, Behind: behind,
		Drawings: []doc.Drawing{chart.Figure{Title: workload + ": " + s.Plane.Title, Desc: s.Desc, Planes: []chart.Plane{s.Plane}}}}
	for i, name := range s.Keys {
		k := doc.Key{No: i, Name: name}
		if lanes := s.Plane.Lanes; len(lanes) == 1 && i < len(lanes[0].Lines) {
			k.Group = lanes[0].Lines[i].Group
		}
		f.Keys = append(f.Keys, k)
	}
	return f
}

func (b behind) table() *doc.Table {
	t := doc.Table{Kind: doc.Behind, Label: b.Caption, Caption: b.Caption, Columns: []doc.Column{{Head: b.First, Row: true, Names: true}}, Groups: make([]doc.Group, 1)}
	for _, h := range b.Heads {
		t.Columns = append(t.Columns, doc.Column{Head: h, Foreign: true, Number: true})
	}
	for _, r := range b.Rows {
		row := doc.Row{Group: r.Group, Cells: []doc.Cell{{Text: r.Name}}}
		for _, text := range r.Cells {
			row.Cells = append(row.Cells, doc.Cell{Text: text})
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, row)
	}
	return &t
}

// mostSlots is how many slots a lane's time has.
const mostSlots = 60

// mostSpots is how many dots all lanes of a timeline or of a loss curve have. Its caption says what is left out.
const mostSpots = 600

// mostDots is how many dots of a row a chart draws.
const mostDots = 150

// mostLog is how many rows a table of trials has.
const mostLog = 600

// downsampled returns at most so many, evenly spaced, with the first and the last.
func downsampled[T any](all []T, most int) []T {
	if len(all) <= most || most < 2 {
		return all
	}
	out := make([]T, 0, most)
	for i := range most {
		out = append(out, all[i*(len(all)-1)/(most-1)])
	}
	return out
}

// downsample returns at most mostDots points of a row, evenly spaced by rank, with the
// extremes. Trials that were ruled out are dropped last.
func downsample(all []point) []point {
	if len(all) <= mostDots {
		return all
	}
	var out []point
	in := make([]point, 0, len(all))
	for _, p := range all {
		if p.out() {
			out = append(out, p)
		} else {
			in = append(in, p)
		}
	}
	slices.SortFunc(in, func(a, b point) int { return cmp.Or(cmp.Compare(a.value, b.value), a.trial.Seq-b.trial.Seq) })
	out = downsampled(out, mostDots/2)
	return append(downsampled(in, mostDots-len(out)), out...)
}
