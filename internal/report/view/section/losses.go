package section

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// mostReasons is how many of the kernel's drop reasons a terminal shows.
const mostReasons = 3

// lossTable is where the datagrams of one workload were dropped.
type lossTable struct {
	Workload string
	Rows     []lossRow
	Missing  []string // what could not be read, once
}

// lossRow is one mode.
type lossRow struct {
	Mode        string
	Trials      int
	Sent, Lost  int64
	Places      []lossPlace // the most first
	Unexplained int64       // negative: more was attributed than lost
	Reasons     []result.DropReason
}

// lossPlace is where so many were dropped, by which counter.
type lossPlace struct {
	Title, Where, Counter string
	Count                 int64
	Share                 float64 // of what was lost; may be over 1
}

// lossesOf returns the losses, one table for each workload.
func lossesOf(v model.View) []lossTable {
	all := piece.Ordered(v.Modes, v.Run.Losses, func(l result.LossSummary) string { return l.Mode })
	var out []lossTable
	for _, id := range piece.WorkloadsIn(v.Run.Losses, func(l result.LossSummary) string { return l.Workload }) {
		t := lossTable{Workload: id}
		var missing piece.Gaps
		for _, l := range all {
			if l.Workload != id {
				continue
			}
			if l.Trials > 0 {
				t.Rows = append(t.Rows, newLossRow(l))
			}
			for _, m := range l.Missing {
				missing.Add(l.Mode, m)
			}
		}
		if t.Missing = missing.List(); len(t.Rows)+len(t.Missing) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func newLossRow(l result.LossSummary) lossRow {
	r := lossRow{Mode: l.Mode, Trials: l.Trials, Sent: l.Sent, Lost: l.Lost, Unexplained: l.Unexplained, Reasons: slices.Clone(l.Reasons)}
	for _, p := range l.Places {
		if p.Count == 0 {
			continue
		}
		at := lossPlace{Title: piece.OrUnknown(result.LossTitle(p.Place)), Where: p.Where, Counter: p.Counter, Count: p.Count}
		at.Share = share(p.Count, l.Lost)
		r.Places = append(r.Places, at)
	}
	slices.SortStableFunc(r.Places, func(a, b lossPlace) int { return cmp.Compare(b.Count, a.Count) })
	slices.SortStableFunc(r.Reasons, func(a, b result.DropReason) int { return cmp.Compare(b.Count, a.Count) })
	return r
}

// share is a part of what was lost; 0 where nothing was.
func share(n, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// lossLegend explains the places.
const lossLegend = "Datagrams by the place where a counter recorded the drop, over all trials with their warm-up. Drops that no counter recorded are unexplained."

// lines are the places, with unexplained losses last.
func (r lossRow) lines() []lossPlace {
	out := slices.Clone(r.Places)
	switch {
	case r.Unexplained > 0:
		out = append(out, lossPlace{Title: "unexplained", Count: r.Unexplained, Share: share(r.Unexplained, r.Lost)})
	case r.Unexplained < 0:
		out = append(out, lossPlace{Title: "more attributed than lost", Count: -r.Unexplained})
	}
	return out
}

// whole returns the losses as a part of what was sent.
func (r lossRow) whole() string {
	in := " in " + wording.Count(r.Trials, "trial", "trials")
	switch {
	case r.Lost <= 0:
		return "nothing lost" + in
	case r.Sent > 0:
		return "lost " + piece.Portion(share(r.Lost, r.Sent)) + " of " + fmt.Sprint(r.Sent) + in
	}
	return "lost" + in
}

// portion is a count as a part of the losses.
func (r lossRow) portion(n int64) string {
	if r.Lost <= 0 {
		return wording.Unknown
	}
	return piece.Portion(share(n, r.Lost))
}

// words describes the losses of a mode.
func (r lossRow) words() string {
	if r.Lost <= 0 && len(r.Places) == 0 {
		return "nothing lost in " + wording.Count(r.Trials, "trial", "trials")
	}
	parts := []string{}
	for i, p := range r.merged() {
		if i == mostPlaces {
			parts = append(parts, "and elsewhere")
			break
		}
		text := p.Title
		if p.Where != "" {
			text += " (" + p.Where + ")"
		}
		parts = append(parts, text+" "+r.part(p.Count))
	}
	if text := r.unexplained(); text != "" {
		parts = append(parts, text)
	}
	text := fmt.Sprintf("%d lost in %s", r.Lost, wording.Count(r.Trials, "trial", "trials"))
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, "; ")
	}
	return text
}

// mostPlaces is how many places a sentence names.
const mostPlaces = 4

// merged merges places that differ in the counter only.
func (r lossRow) merged() []lossPlace {
	var out []lossPlace
	for _, p := range r.Places {
		i := slices.IndexFunc(out, func(o lossPlace) bool { return o.Title == p.Title && o.Where == p.Where })
		if i < 0 {
			out = append(out, p)
			continue
		}
		out[i].Count, out[i].Share = out[i].Count+p.Count, out[i].Share+p.Share
	}
	return out
}

// part formats a count and its part of the losses.
func (r lossRow) part(n int64) string {
	if r.Lost <= 0 {
		return fmt.Sprint(n)
	}
	return piece.Portion(share(n, r.Lost))
}

// unexplained describes losses that no counter recorded; empty where there are none.
func (r lossRow) unexplained() string {
	switch {
	case r.Unexplained > 0:
		return "unexplained " + r.part(r.Unexplained)
	case r.Unexplained < 0:
		return fmt.Sprint(-r.Unexplained) + " more attributed than lost"
	}
	return ""
}

// reasons lists the kernel's drop reasons, so many at most; empty where there are none.
func (r lossRow) reasons(most int) string {
	var parts []string
	for i, d := range r.Reasons {
		if i == most {
			parts = append(parts, "and "+wording.Count(len(r.Reasons)-i, "more", "more"))
			break
		}
		text := piece.OrUnknown(d.Reason) + " " + fmt.Sprint(d.Count)
		if d.Location != "" {
			text += " in " + d.Location
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// Losses are where datagrams were dropped; a terminal groups modes with the same losses.
func Losses(b *model.Builder) []doc.Block {
	var blocks []doc.Block
	for i, t := range lossesOf(b.View) {
		s := doc.Section{ID: fmt.Sprintf("l%d", i+1), Look: doc.Metric, Head: doc.Heading{Name: t.Workload, Untold: true}}
		brief := []doc.Block{doc.Paragraph{Text: t.Workload, Depth: 1}}
		var told piece.Gaps
		for _, r := range t.Rows {
			text := r.words()
			if some := r.reasons(mostReasons); some != "" {
				text += "; drop reasons of the kernel " + some
			}
			told.Add(r.Mode, text)
		}
		for _, text := range told.List() {
			brief = append(brief, doc.Paragraph{Text: text, Depth: 2})
		}
		s.Blocks = []doc.Block{piece.ForTerminal(brief...)}
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, piece.ForHTML(t.table(s.ID)))
		}
		s.Blocks = append(s.Blocks, piece.NotKnown(t.Missing)...)
		blocks = append(blocks, s)
	}
	if len(blocks) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "losses", Fold: true, Head: doc.Heading{Text: "Where datagrams were dropped"}, Nav: "Losses",
		Blocks: append([]doc.Block{piece.ForHTML(doc.Paragraph{Role: doc.Legend, Text: lossLegend})}, blocks...)}}
}

func (t lossTable) table(by string) doc.Block {
	out := doc.Table{Kind: doc.Losses, By: by, Columns: []doc.Column{
		{Head: "Place"}, {Head: "Where", Names: true}, {Head: "Counter", Names: true}, {Head: "Datagrams", Number: true},
		{Head: "Share", Number: true}, {Bars: true},
	}}
	for _, r := range t.Rows {
		g := doc.Group{Head: doc.Heading{Name: r.Mode, Small: r.whole(), Tight: true}}
		for _, l := range r.lines() {
			g.Rows = append(g.Rows, doc.Row{Cells: []doc.Cell{{Text: l.Title}, {Text: l.Where}, {Text: l.Counter}, {Text: fmt.Sprint(l.Count)},
				{Text: r.portion(l.Count), Tight: true}, {Bar: new(l.Share)}}})
		}
		if text := r.reasons(len(r.Reasons)); text != "" {
			g.Rows = append(g.Rows, doc.Row{Kernel: text})
		}
		out.Groups = append(out.Groups, g)
	}
	return out
}
