package report

import (
	"fmt"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/say"
)

// figure draws a breakdown: a stacked bar for each mode, and beside it what each
// spends more or less than its baseline. False where there is nothing to draw.
func (b breakdown) figure() (chart.Figure, bool) {
	if len(b.Modes) == 0 {
		return chart.Figure{}, false
	}
	keys, rows := b.keys()
	f := chart.Figure{
		Title:  b.Workload + ": where the CPU time went",
		Desc:   b.description(),
		Legend: "A bar is a mode's CPU time, split by what sampled stacks were at work on.",
		Keys:   keys,
		Panels: []chart.Panel{{Title: "CPU time, " + b.Unit, Axis: chart.Axis{Zero: true}}},
	}
	zero := 0.0
	more := chart.Panel{Title: "More or less than " + b.bases(), Axis: chart.Axis{Ref: &zero, Left: "less", Right: "more"}}
	for j, m := range b.Modes {
		all, diff := chart.Row{Label: m.Mode, Note: b.number(m.Total)}, chart.Row{Label: m.Mode}
		total := 0.0
		for i, r := range rows {
			key := i
			if r.Unknown {
				key = chart.Unsorted
			}
			c := r.Cells[j]
			all.Parts = append(all.Parts, chart.Part{Key: key, Value: c.Value, Tip: m.Mode + ", " + r.Name + ": " + b.number(c.Value)})
			if c.Diff != nil {
				total += *c.Diff
				diff.Parts = append(diff.Parts, chart.Part{Key: key, Value: *c.Diff, Tip: m.Mode + ", " + r.Name + ": " + b.diff(c)})
			}
		}
		f.Panels[0].Rows = append(f.Panels[0].Rows, all)
		if m.Base != "" {
			diff.Note = b.diff(breakdownCell{Diff: &total})
			more.Rows = append(more.Rows, diff)
		}
	}
	if len(more.Rows) > 0 {
		f.Panels = append(f.Panels, more)
	}
	return f, true
}

// keys are the components with a colour of their own, those that differ most, with the
// rows they stand for; the others are one, what no rule knows is the last row and has
// no key.
func (b breakdown) keys() ([]string, []breakdownRow) {
	var known, unknown []breakdownRow
	for _, r := range b.Rows {
		if r.Unknown {
			unknown = append(unknown, r)
		} else if r.most() > 0 {
			known = append(known, r)
		}
	}
	if len(known) > chart.MostKeys+1 {
		rest := known[chart.MostKeys:]
		known = append(known[:chart.MostKeys:chart.MostKeys], b.sum(say.Count(len(rest), "other", "others"), rest))
	}
	var keys []string
	for _, r := range known {
		keys = append(keys, r.Name)
	}
	return keys, append(known, unknown...)
}

// bases names the baseline, or several in one word.
func (b breakdown) bases() string {
	name := ""
	for _, m := range b.Modes {
		switch {
		case m.Base == "" || m.Base == name:
		case name == "":
			name = m.Base
		default:
			return "the baseline"
		}
	}
	return name
}

// description says in words what the figure shows: the whole of each mode and what
// differs most.
func (b breakdown) description() string {
	var parts []string
	for j, m := range b.Modes {
		text := fmt.Sprintf("%s: %s %s", m.Mode, b.number(m.Total), b.Unit)
		for i, r := range b.Rows {
			if i == 3 || r.Unknown {
				break
			}
			text += fmt.Sprintf(", %s %s", r.Name, b.number(r.Cells[j].Value))
		}
		parts = append(parts, say.Cut(text, 300))
	}
	return strings.Join(parts, ". ") + "."
}
