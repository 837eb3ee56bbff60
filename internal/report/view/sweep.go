package view

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tare/internal/report/doc"
	"tare/internal/report/wording"
	"tare/internal/result"
)

// sweep is a workload at several loads: one row for each load, one column for each mode.
type sweep struct {
	ID    string
	Modes []string
	Rows  []sweepRow
}

// sweepRow is one load: of each mode the loss with its interval, in percent.
type sweepRow struct {
	Rate  string
	Loss  []string
	cells []*result.Cell
}

// words describes from which load on a mode loses; empty where it is unknown.
func (s sweep) words(mode string) string {
	c := slices.Index(s.Modes, mode)
	if c < 0 {
		return ""
	}
	known := ""
	for _, r := range s.Rows {
		switch cell := r.cells[c]; {
		case cell == nil || cell.Value == nil:
		case *cell.Value > 0:
			return "loses from " + r.Rate + " on in " + s.ID + " (" + r.Loss[c] + " % there)"
		default:
			known = r.Rate
		}
	}
	if known == "" {
		return ""
	}
	return "loses nothing up to " + known + " in " + s.ID
}

// swept reports whether a workload is one value of a sweep.
func (v view) swept(id string) bool {
	_, ok := v.curve(id)
	return ok
}

// sweepsOf groups the workloads that differ in their load, udp_sweep@200Mbit/s for example, by
// the name before the load.
func sweepsOf(ws []workload) []sweep {
	var out []sweep
	for _, w := range ws {
		id, rate, ok := strings.Cut(w.ID, "@")
		i := slices.IndexFunc(w.Tables, func(t table) bool { return t.Metric.Name == "loss_ratio" })
		if !ok || i < 0 {
			continue
		}
		at := slices.IndexFunc(out, func(s sweep) bool { return s.ID == id })
		if at < 0 {
			at = len(out)
			s := sweep{ID: id}
			for _, r := range w.Tables[i].rows() {
				if !unmeasured(r.Mode) {
					s.Modes = append(s.Modes, r.Mode.ID)
				}
			}
			out = append(out, s)
		}
		row := sweepRow{Rate: rate}
		scale := wording.ScaleFor("ratio")
		for _, mode := range out[at].Modes {
			r, _ := w.Tables[i].of(mode)
			row.Loss, row.cells = append(row.Loss, r.value(scale)), append(row.cells, r.Cell)
		}
		out[at].Rows = append(out[at].Rows, row)
	}
	return slices.DeleteFunc(out, func(s sweep) bool { return len(s.Rows) < 2 })
}

// sweeps are a table for each sweep: one row for each load, one column for each mode.
func (b *builder) sweeps() []doc.Block {
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
			c, ok := s.chart(b.view)
			if !ok {
				return nil
			}
			return []doc.Block{doc.Beside{Single: true, Blocks: []doc.Block{c.figure(id+"-g", s.ID, nil)}}}
		})
		out = append(out, doc.Section{ID: id, Nav: s.ID + ": loss by load",
			Head:   doc.Heading{Name: s.ID, Text: "loss by load", Terminal: "loss ratio, %; one row for each load, one column for each mode"},
			Blocks: []doc.Block{forMarkdown(doc.Paragraph{Text: caption + "."}), forHTML(doc.Later(drawn)), forPages(t), forTerminal(g)}})
	}
	return out
}
