package section

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// limitTable says what held TCP back in one workload.
type limitTable struct {
	Workload string
	Rows     []limitRow
	Missing  []string // what the kernel does not tell, once
}

// limitRow is the sender of one mode.
type limitRow struct {
	Mode, Sender string
	Shares       [4]*float64 // of limitNames, 0..1; nil where unknown
	Retransmits  string      // by cause; empty where there were none or none were counted
	counted      bool
}

// limitNames are what can hold a sender back.
func limitNames() []string {
	return []string{"application", "receive window", "send buffer", "network"}
}

// limitLegend explains them.
const limitLegend = "Shares of the time, at the sender. Application: it had nothing to send. Receive window: the receiver had no room. " +
	"Send buffer: its own had none. Network: the rest, in which congestion control or the path set the pace. " +
	"Retransmits are summed over whole trials, warm-up included; the metric of that name counts timed windows alone."

// limitsTables gathers the limits, a table for each workload.
func limitsTables(v model.View) []limitTable {
	all := piece.Ordered(v.Modes, v.Run.TCPLimits, func(l result.TCPLimits) string { return l.Mode })
	var out []limitTable
	for _, id := range piece.WorkloadsIn(v.Run.TCPLimits, func(l result.TCPLimits) string { return l.Workload }) {
		t := limitTable{Workload: id}
		var missing piece.Gaps
		for _, l := range all {
			if l.Workload != id {
				continue
			}
			for _, m := range l.Missing {
				missing.Add(l.Mode, m)
			}
			r := limitRow{Mode: l.Mode, Sender: l.Sender, Retransmits: retransmits(l.Retransmits), counted: l.Retransmits != nil}
			for i, s := range []*float64{l.Application, l.ReceiveWindow, l.SendBuffer, l.Network} {
				if piece.Finite(s) {
					r.Shares[i] = new(piece.Kept(*s))
				}
			}
			if r.known() || r.Retransmits != "" {
				t.Rows = append(t.Rows, r)
			}
		}
		if t.Missing = missing.List(); len(t.Rows)+len(t.Missing) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// known says that any share of the row is.
func (r limitRow) known() bool {
	return slices.ContainsFunc(r.Shares[:], func(s *float64) bool { return s != nil })
}

// name is the mode, with the end where one mode has two that send.
func (r limitRow) name(t limitTable) string {
	for _, o := range t.Rows {
		if o.Mode == r.Mode && o.Sender != r.Sender {
			return r.Mode + " (" + r.Sender + ")"
		}
	}
	return r.Mode
}

// known says that a share of any mode is.
func (t limitTable) known() bool { return slices.ContainsFunc(t.Rows, limitRow.known) }

// Texts are the shares in percent.
func (r limitRow) Texts() []string {
	var out []string
	for _, s := range r.Shares {
		if s == nil {
			out = append(out, wording.Unknown)
			continue
		}
		out = append(out, piece.Portion(*s))
	}
	return out
}

// Again says what was sent again, for a table.
func (r limitRow) Again() string {
	switch {
	case r.Retransmits != "":
		return r.Retransmits
	case r.counted:
		return "none"
	}
	return wording.Unknown
}

// retransmits words counts by cause, the most first.
func retransmits(by map[string]int64) string {
	causes := slices.DeleteFunc(slices.Sorted(maps.Keys(by)), func(c string) bool { return by[c] <= 0 })
	slices.SortStableFunc(causes, func(a, b string) int { return cmp.Compare(by[b], by[a]) })
	var parts []string
	for _, c := range causes {
		parts = append(parts, fmt.Sprintf("%s %d", cause(c), by[c]))
	}
	return strings.Join(parts, "; ")
}

// cause names a cause of retransmissions as a network engineer does.
func cause(id string) string {
	switch id {
	case result.RetransmitSYN:
		return "SYN"
	case result.RetransmitFast:
		return "fast retransmit"
	}
	return strings.ReplaceAll(id, "_", " ")
}

// alike words the shares where all modes have the same ones, as near as makes no
// difference; empty where they differ.
func (t limitTable) alike() string {
	const near = 0.05
	if len(t.Rows) < 2 {
		return ""
	}
	var parts []string
	for i, name := range limitNames() {
		lo, hi := 1.0, 0.0
		for _, r := range t.Rows {
			if r.Shares[i] == nil {
				return ""
			}
			lo, hi = min(lo, *r.Shares[i]), max(hi, *r.Shares[i])
		}
		if hi-lo > near {
			return ""
		}
		parts = append(parts, name+" "+piece.Reach(lo, hi))
	}
	return "all modes alike: " + strings.Join(parts, ", ")
}

// Limits say who limited TCP; a terminal is told in one line where all modes are alike.
func Limits(b *model.Builder) []doc.Block {
	var blocks []doc.Block
	untold := true
	for i, t := range limitsTables(b.View) {
		s := doc.Section{ID: fmt.Sprintf("t%d", i+1), Look: doc.Metric, Head: doc.Heading{Name: t.Workload, Untold: true}}
		if len(t.Rows) > 0 {
			s.Blocks = []doc.Block{piece.ForHTML(t.table(s.ID))}
		}
		if t.Workload == result.CostPassID { // its rate is set: the application, by design
			s.Blocks = append(s.Blocks, piece.ForHTML(piece.NotKnown(t.Missing)...))
		} else {
			untold = false
			s.Blocks = append(append(s.Blocks, piece.ForTerminal(t.summary()...)), piece.NotKnown(t.Missing)...)
		}
		blocks = append(blocks, s)
	}
	if len(blocks) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "limits", Nav: "TCP", Fold: true, Head: doc.Heading{Text: "Who limited TCP", Terminal: "Who limited TCP, share of the time", Untold: untold},
		Blocks: append([]doc.Block{piece.ForHTML(doc.Paragraph{Role: doc.Legend, Text: limitLegend})}, blocks...)}}
}

func (t limitTable) table(by string) doc.Table {
	out := doc.Table{Kind: doc.Limits, By: by, Columns: []doc.Column{{Head: "Mode", Row: true, Names: true}}, Groups: make([]doc.Group, 1)}
	for _, name := range limitNames() {
		out.Columns = append(out.Columns, doc.Column{Head: name, Number: true})
	}
	out.Columns = append(out.Columns, doc.Column{Head: "Retransmits, whole trials"})
	for _, r := range t.Rows {
		row := doc.Row{Cells: []doc.Cell{{Text: r.name(t)}}}
		for i, text := range r.Texts() {
			share := 0.0
			if r.Shares[i] != nil {
				share = *r.Shares[i]
			}
			row.Cells = append(row.Cells, doc.Cell{Text: text, Tight: true, Bar: &share})
		}
		row.Cells = append(row.Cells, doc.Cell{Text: r.Again()})
		out.Groups[0].Rows = append(out.Groups[0].Rows, row)
	}
	return out
}

// summary is the table for a terminal.
func (t limitTable) summary() []doc.Block {
	var out []doc.Block
	alike := t.alike()
	switch {
	case !t.known():
		out = append(out, doc.Paragraph{Text: t.Workload, Depth: 1})
	case alike != "":
		out = append(out, doc.Paragraph{Text: t.Workload + ": " + alike, Depth: 1})
	default:
		g := doc.Grid{Corner: t.Workload, Else: []doc.Block{doc.Paragraph{Text: t.Workload, Depth: 1}}}
		names := limitNames()
		for _, name := range names {
			g.Columns = append(g.Columns, doc.GridColumn{Head: name, Uncut: true})
		}
		for _, r := range t.Rows {
			g.Names = append(g.Names, r.name(t))
			var parts []string
			for i, text := range r.Texts() {
				g.Columns[i].Cells = append(g.Columns[i].Cells, piece.Right(text, wording.Width(names[i])))
				parts = append(parts, names[i]+" "+text)
			}
			g.Else = append(g.Else, doc.Paragraph{Text: r.name(t) + ": " + strings.Join(parts, ", "), Depth: 2})
		}
		out = append(out, g)
	}
	for _, r := range t.Rows {
		if r.Retransmits != "" {
			out = append(out, doc.Paragraph{Text: "retransmits of " + r.name(t) + " over whole trials: " + r.Retransmits, Depth: 2})
		}
	}
	return out
}
