// Package claims holds published claims against a run: as one screen, as a section, and those of several studies.
package claims

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// claimsAnchor is the section of the claims.
const claimsAnchor = "claims"

// The legends of the section.
const (
	claimsLegend = "What was published, held against this run. A claim holds or does not hold only if the interval of this run shows it; otherwise it cannot be told here. " +
		"The set-ups differ: what was published is of another machine, network and year."
	claimsCaption = "Ratios as published and as found here, each with its interval where one is known. The line is at 1, no difference."
)

// Section are the published claims and what the run found about them.
func Section(b *model.Builder) []doc.Block {
	if len(b.Run.Claims) == 0 {
		return nil
	}
	rows := claimRows(b.Run.Claims)
	blocks := []doc.Block{doc.Paragraph{Text: claimCounts(b.Run.Claims) + "."}, piece.ForPages(doc.Paragraph{Role: doc.Legend, Text: claimsLegend}), piece.ForPages(claimTable(rows))}
	if f, ok := claimFigure(b.Run.Claims, rows); ok {
		blocks = append(blocks, piece.ForHTML(doc.Figure{Look: doc.Shown, ID: "claims-f", Drawings: []doc.Drawing{f}, Caption: claimsCaption}))
	}
	if items := claimDiffers(rows); len(items) > 0 {
		blocks = append(blocks, piece.ForPages(doc.Section{ID: "claims-differ", Head: doc.Heading{Text: "Why they may differ"}, Blocks: []doc.Block{doc.List{Role: doc.Summary, Items: items}}}))
	}
	for _, r := range rows {
		blocks = append(blocks, piece.ForTerminal(claimParagraphs(r)...))
	}
	return []doc.Block{doc.Section{ID: claimsAnchor, Head: doc.Heading{Text: "What was claimed, what was found"}, Nav: "Claims", Blocks: blocks}}
}

// claimTable is a row for each claim, with its parts below it.
func claimTable(rows []doc.ClaimRow) doc.Table {
	t := doc.Table{Kind: doc.ClaimTable, By: claimsAnchor, Columns: []doc.Column{
		{Head: "Claim", Row: true, Names: true}, {For: doc.Markdown, Head: "Source", Names: true}, {Head: "Published", Names: true}, {Head: "Found here"}, {Head: "Outcome", Verdict: true},
	}}
	for _, r := range rows {
		outcome := doc.Cell{Text: r.Outcome, Tone: r.Tone}
		if r.Reason != "" {
			outcome.Notes = []string{r.Reason}
		}
		g := doc.Group{Rows: []doc.Row{{Cells: []doc.Cell{{Text: r.Claim, Small: r.Source}, {Text: r.Source}, {Text: r.Published}, {Text: piece.OrDash(r.Found), Tight: true}, outcome}}}}
		for _, p := range r.Points {
			g.Rows = append(g.Rows, doc.Row{Cells: []doc.Cell{{Text: "· " + p.Label}, {Blank: true}, {Blank: true}, {Text: piece.OrDash(p.Found), Tight: true}, {Text: p.Outcome, Tone: p.Tone}}})
		}
		t.Groups = append(t.Groups, g)
	}
	return t
}

// claimDiffers are the reasons why published and found values may differ: those of all claims, then
// the others, with the claims that have them in common.
func claimDiffers(rows []doc.ClaimRow) []doc.Item {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r doc.ClaimRow) bool { return len(r.Differs) == 0 })
	common := map[string]bool{}
	if len(rows) > 1 {
		for _, reason := range rows[0].Differs {
			common[reason] = !slices.ContainsFunc(rows, func(r doc.ClaimRow) bool { return !slices.Contains(r.Differs, reason) })
		}
	}
	var all []string
	var out []doc.Item
	for i, r := range rows {
		var own []string
		for _, reason := range r.Differs {
			if !common[reason] {
				own = append(own, reason)
			} else if i == 0 {
				all = append(all, reason)
			}
		}
		if len(own) == 0 {
			continue
		}
		name, text := strings.TrimRight(r.Claim, "."), sentences(own)
		if at := slices.IndexFunc(out, func(o doc.Item) bool { return o.Text == text }); at >= 0 {
			out[at].Name += "; " + name
			continue
		}
		out = append(out, doc.Item{Name: name, Text: text})
	}
	if len(all) > 0 {
		out = slices.Insert(out, 0, doc.Item{Name: "All claims", Text: sentences(all)})
	}
	for i := range out {
		out[i].Name += ":"
	}
	return out
}

// claimParagraphs are a claim in the full report of a terminal.
func claimParagraphs(r doc.ClaimRow) []doc.Block {
	out := []doc.Block{doc.Paragraph{Text: strings.TrimSpace(r.Sign + " " + r.Outcome + ": " + r.Claim), Depth: 1, Lines: 4}}
	add := func(text string, depth int) {
		if text != "" {
			out = append(out, doc.Paragraph{Text: text, Depth: depth, Lines: 6})
		}
	}
	add(r.Source, 2)
	add(r.Values(), 2)
	add(r.Reason, 2)
	for _, p := range r.Points {
		add(p.Label+": "+strings.TrimPrefix(p.Found+", "+p.Outcome, ", "), 3)
	}
	if len(r.Differs) > 0 {
		add("may differ: "+sentences(r.Differs), 2)
	}
	return out
}

// claimFigure draws the ratios of claims that were published with a number, above those found here.
func claimFigure(claims []result.Claim, rows []doc.ClaimRow) (chart.Figure, bool) {
	panel := chart.Panel{Title: "ratio, published and found here", Axis: chart.Axis{Ratio: true, Ref: new(1.0)}}
	var words []string
	for i, c := range claims {
		if c.Unit != "" || !positive(c.PublishedValue) || !positive(c.Value) {
			continue
		}
		panel.Rows = append(panel.Rows,
			chart.Row{Heading: c.ID, Label: "published", Note: wording.Cut(rows[i].Published, 40), Tone: chart.Plain, Estimate: c.PublishedValue, Interval: drawn(c.PublishedCI)},
			chart.Row{Label: "here", Note: strings.TrimSpace(rows[i].Found + ", " + rows[i].Outcome), Tone: rows[i].Tone, Estimate: c.Value, Interval: drawn(c.CI)})
		words = append(words, fmt.Sprintf("%s: %s", c.ID, rows[i].Values()))
	}
	return chart.Figure{Title: "Published and found ratios", Desc: strings.Join(words, "; "), Legend: claimsCaption, Panels: []chart.Panel{panel}}, len(panel.Rows) > 0
}

func positive(v *float64) bool { return piece.Finite(v) && *v > 0 }

// drawn is an interval that an axis of ratios can have.
func drawn(ci *result.Interval) *[2]float64 {
	if ci == nil || !positive(&ci[0]) || !positive(&ci[1]) {
		return nil
	}
	return &[2]float64{ci[0], ci[1]}
}
