package section

import (
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// alike joins hosts with the same facts: "a, b".
func alike(hosts []result.Host) []result.Host {
	var out []result.Host
	for _, h := range hosts {
		i := slices.IndexFunc(out, func(o result.Host) bool { return slices.Equal(o.Facts, h.Facts) })
		if i < 0 {
			out = append(out, h)
			continue
		}
		out[i].Name += ", " + h.Name
	}
	return out
}

// modeEnvironment is the environment of modes: the driver's mode, engines and limits.
type modeEnvironment struct {
	Modes []string
	Facts []result.Fact
}

// Names lists the modes.
func (s modeEnvironment) Names() string { return strings.Join(s.Modes, ", ") }

// Text is the facts in one line.
func (s modeEnvironment) Text() string { return piece.Facts(s.Facts) }

// modeEnvironments groups the modes by their environment.
func modeEnvironments(modes []result.Mode) []modeEnvironment {
	var out []modeEnvironment
	for _, m := range modes {
		known := m.Facts
		if m.Mode != "" && m.Mode != m.ID {
			known = append([]result.Fact{{Name: "mode", Value: m.Mode}}, known...)
		}
		if len(known) == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(s modeEnvironment) bool { return slices.Equal(s.Facts, known) })
		if i < 0 {
			i = len(out)
			out = append(out, modeEnvironment{Facts: known})
		}
		out[i].Modes = append(out[i].Modes, m.ID)
	}
	return out
}

// Hosts describes the hosts, for a terminal.
func Hosts(b *model.Builder) []doc.Block {
	var out []doc.Block
	l := doc.List{Cut: 600}
	for _, h := range alike(b.Run.Hosts) {
		l.Items = append(l.Items, doc.Item{Name: h.Name, Text: piece.Facts(h.Facts), Colon: true})
	}
	if len(l.Items) > 0 {
		out = append(out, doc.Section{Head: doc.Heading{Text: "Hosts"}, Blocks: []doc.Block{l}})
	}
	l = doc.List{Cut: 600}
	for _, s := range modeEnvironments(b.Run.Modes) {
		l.Items = append(l.Items, doc.Item{Name: s.Names(), Text: s.Text(), Colon: true})
	}
	if len(l.Items) > 0 {
		out = append(out, doc.Section{Head: doc.Heading{Text: "Modes"}, Blocks: []doc.Block{l}})
	}
	return out
}

func environmentTable(all []modeEnvironment) doc.Table {
	t := doc.Table{Kind: doc.Facts, By: "standings", Caption: "Engines and limits of the modes",
		Columns: []doc.Column{{Row: true, Names: true, Strong: true}, {}}, Groups: make([]doc.Group, 1)}
	for _, s := range all {
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: s.Names()}, {Text: s.Text()}}})
	}
	return t
}

// Environment describes the hosts, one column each.
func Environment(b *model.Builder) []doc.Block {
	var blocks []doc.Block
	if len(b.Run.Hosts) > 0 {
		blocks = append(blocks, doc.Section{ID: "hosts", Head: doc.Heading{Text: "Hosts"}, Blocks: []doc.Block{hostTable(b.Run.Hosts)}})
	}
	if standings := modeEnvironments(b.Run.Modes); len(standings) > 0 {
		blocks = append(blocks, doc.Section{ID: "standings", Head: doc.Heading{Text: "Environment of the modes"}, Blocks: []doc.Block{environmentTable(standings)}})
	}
	if len(blocks) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "environment", Head: doc.Heading{Text: "Environment"}, Nav: "Environment", Fold: true, Blocks: blocks}}
}

// hostTable is the facts of all hosts, in the order in which they first appear.
func hostTable(hosts []result.Host) doc.Table {
	t := doc.Table{Kind: doc.Facts, By: "hosts", Caption: "Facts of the hosts", Columns: []doc.Column{{Head: "Fact", Row: true}}, Groups: make([]doc.Group, 1)}
	rows := &t.Groups[0].Rows
	for i, h := range hosts {
		t.Columns = append(t.Columns, doc.Column{Head: h.Name, Foreign: true})
		for _, f := range h.Facts {
			at := slices.IndexFunc(*rows, func(r doc.Row) bool { return r.Cells[0].Text == f.Name })
			if at < 0 {
				at = len(*rows)
				*rows = append(*rows, doc.Row{Cells: append([]doc.Cell{{Text: f.Name}}, slices.Repeat([]doc.Cell{{Text: wording.Unknown}}, len(hosts))...)})
			}
			(*rows)[at].Cells[i+1].Text = f.Value
		}
	}
	return t
}
