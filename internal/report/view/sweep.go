package view

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tare/internal/analysis"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/wording"
)

// sweep is a workload at several loads: one row for each load, one column for each mode.
type sweep struct {
	ID    string
	Modes []string
	Rows  []sweepRow
}

// sweepRow is one load: of each mode the loss with its interval, in percent. short says of which modes the sender offered
// clearly less than the load.
type sweepRow struct {
	Rate  string
	Loss  []string
	cells []*result.Cell
	short []bool
}

// knee is where a mode begins to lose, as loads of a sweep; each is empty where it is unknown.
type knee struct {
	upTo       string // the highest load up to which nothing was lost
	from, loss string // the lowest load at which something was lost, and how much, in percent
	short      string // the lowest load that the sender did not offer, without a loss
}

// knee is that of a mode; ok is false where no load has a value.
func (s sweep) knee(mode string) (k knee, ok bool) {
	c := slices.Index(s.Modes, mode)
	if c < 0 {
		return k, false
	}
	for _, r := range s.Rows {
		switch cell := r.cells[c]; {
		case cell == nil || cell.Value == nil:
		case *cell.Value > 0:
			k.from, k.loss = r.Rate, r.Loss[c]
			return k, true
		case k.short != "":
		case r.short[c]:
			k.short = r.Rate
		default:
			k.upTo = r.Rate
		}
	}
	return k, k.upTo+k.short != ""
}

// words describes from which load on a mode loses; empty where it is unknown.
func (s sweep) words(mode string) string {
	k, ok := s.knee(mode)
	short := "the sender did not reach " + k.short
	switch {
	case !ok:
		return ""
	case k.from != "":
		return "loses from " + k.from + " on in " + s.ID + " (" + k.loss + " % there)"
	case k.upTo == "":
		return "lost nothing in " + s.ID + ", but " + short
	case k.short != "":
		return "loses nothing up to " + k.upTo + " in " + s.ID + "; " + short
	}
	return "loses nothing up to " + k.upTo + " in " + s.ID
}

// brief is the knee for the first screen: "no loss up to 500Mbit/s, 2.0 (1.9-2.1) % at 1Gbit/s".
func (k knee) brief() string {
	var parts []string
	if k.upTo != "" {
		parts = append(parts, "no loss up to "+k.upTo)
	}
	if k.from != "" {
		parts = append(parts, k.loss+" % at "+k.from)
	} else if k.short != "" {
		parts = append(parts, "the sender did not reach "+k.short)
	}
	return strings.Join(parts, ", ")
}

// kneeNotes are the knees of all modes but controls, a line of the first screen for each sweep. Modes with the same one are
// together.
func (b *builder) kneeNotes() []doc.Note {
	var out []doc.Note
	for _, s := range b.Sweeps {
		var texts []string
		modes := map[string][]string{}
		for _, m := range b.Run.Modes {
			k, ok := s.knee(m.ID)
			if !ok || m.Control {
				continue
			}
			text := k.brief()
			if modes[text] == nil {
				texts = append(texts, text)
			}
			modes[text] = append(modes[text], m.ID)
		}
		var parts []string
		for _, text := range texts {
			parts = append(parts, doc.Note{About: modes[text]}.Names()+": "+text)
		}
		if len(parts) > 0 {
			out = append(out, doc.Note{About: []string{s.ID}, Text: strings.Join(parts, "; ")})
		}
	}
	return out
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
			row.short = append(row.short, w.underoffered(mode, rate))
		}
		out[at].Rows = append(out[at].Rows, row)
	}
	return slices.DeleteFunc(out, func(s sweep) bool { return len(s.Rows) < 2 })
}

// underoffered reports whether the sender of a mode offered clearly less than a rate such as 500Mbit/s.
func (w workload) underoffered(mode, rate string) bool {
	i := slices.IndexFunc(w.Tables, func(t table) bool { return t.Metric.Name == "offered_load" })
	var asked study.Rate
	if i < 0 || asked.UnmarshalText([]byte(rate)) != nil {
		return false
	}
	r, ok := w.Tables[i].of(mode)
	return ok && r.Cell != nil && r.Cell.Value != nil && analysis.Underoffered(*r.Cell.Value, float64(asked))
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
