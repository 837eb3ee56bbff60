package sheet

import (
	"tare/internal/report/chart"
	"tare/internal/report/doc"
)

// Figure is a chart with the table behind it, nil where that is elsewhere.
func (s WorkloadChart) Figure(id, workload string, behind *doc.Table) doc.Figure {
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

// Table is the table as a block.
func (b Behind) Table() *doc.Table {
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

// MostSpots is how many dots all lanes of a timeline or of a loss curve have. Its caption says what is left out.
const MostSpots = 600

// Behind is the table behind a chart.
type Behind struct {
	Caption, First string
	Heads          []string
	Rows           []BehindRow
}

// BehindRow is a row of the table behind a chart.
type BehindRow struct {
	Name  string
	Group int // which mode the row is of, 0 for none
	Cells []string
}

// WorkloadChart is a chart of a workload, with a text alternative and a caption.
type WorkloadChart struct {
	Plane         chart.Plane
	Desc, Caption string
	Keys          []string // of its lines, A, B, C
}
