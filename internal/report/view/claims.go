package view

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/printable"
	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// claimsAnchor is the section of the claims.
const claimsAnchor = "claims"

// outcomeWords are the outcomes as a reader sees them. The sign is for a terminal.
func outcomeWords(o result.ClaimOutcome) (tone chart.Tone, sign, words string) {
	switch o {
	case result.ClaimHolds:
		return chart.Same, "+", "holds"
	case result.ClaimDoesNotHold:
		return chart.Worse, "-", "does not hold"
	case "":
		return chart.Absent, " ", "not run"
	}
	return chart.Unsure, "?", "cannot tell"
}

// fitClaims returns claims without values of modes that were not measured, and without values that are
// no numbers. A claim whose values are left out cannot be told.
func fitClaims(claims []result.Claim, scenarios []result.Scenario, unfit map[string]bool) []result.Claim {
	if len(claims) == 0 {
		return nil
	}
	modes := map[string]string{}
	for _, s := range scenarios {
		modes[s.ID] = s.Mode
	}
	missing := func(name string) bool { return unfit[name] || unfit[modes[name]] }
	return each(claims, func(c result.Claim) result.Claim {
		c.PublishedValue, c.PublishedCI = numbers(c.PublishedValue, c.PublishedCI)
		c.Value, c.CI = numbers(c.Value, c.CI)
		c.Points = each(c.Points, func(p result.ClaimPoint) result.ClaimPoint {
			p.Value, p.CI = numbers(p.Value, p.CI)
			return p
		})
		i := slices.IndexFunc(slices.Concat(c.Of, c.Over), missing)
		if i < 0 {
			return c
		}
		c.Value, c.CI, c.Points = nil, nil, nil
		if c.Outcome != result.ClaimCannotTell {
			c.Outcome, c.Reason = result.ClaimCannotTell, slices.Concat(c.Of, c.Over)[i]+" was not measured"
		}
		return c
	})
}

// numbers leaves out what is no number.
func numbers(v *float64, ci *result.Interval) (*float64, *result.Interval) {
	if !finite(v) {
		return nil, nil
	}
	if ci != nil && (!finite(&ci[0]) || !finite(&ci[1])) {
		ci = nil
	}
	return v, ci
}

// claimRow is a claim ready to be shown.
func claimRow(c result.Claim) doc.ClaimRow {
	r := doc.ClaimRow{ID: c.ID, Claim: c.Claim, Source: c.Source, Published: c.Published, Reason: c.Reason, Differs: c.Differs}
	r.Tone, r.Sign, r.Outcome = outcomeWords(c.Outcome)
	scale := wording.ScaleFor(c.Unit, claimValues(c)...)
	r.Found = claimValue(c, scale, c.Value, c.CI)
	if r.Published == "" {
		r.Published = claimValue(c, scale, c.PublishedValue, c.PublishedCI)
	}
	for _, p := range c.Points {
		point := doc.ClaimPoint{Label: p.Label, Found: claimValue(c, scale, p.Value, p.CI)}
		point.Tone, _, point.Outcome = outcomeWords(p.Outcome)
		r.Points = append(r.Points, point)
	}
	return r
}

func claimRows(claims []result.Claim) []doc.ClaimRow {
	out := make([]doc.ClaimRow, len(claims))
	for i, c := range claims {
		out[i] = claimRow(c)
	}
	return out
}

// claimValues are the values that share the scale of a claim.
func claimValues(c result.Claim) []float64 {
	out := values(c.Value)
	for _, p := range c.Points {
		out = append(out, values(p.Value)...)
	}
	if len(out) == 0 {
		out = values(c.PublishedValue)
	}
	return out
}

// claimValue is a value with its interval and unit, empty if it is unknown. A claim without a unit
// is about a ratio.
func claimValue(c result.Claim, s wording.Scale, v *float64, ci *result.Interval) string {
	switch {
	case v == nil:
		return ""
	case c.Unit == "":
		return wording.Ratio(v, ci)
	}
	return strings.TrimSpace(s.Estimate(v, ci) + " " + s.Unit)
}

// claimsScreen is the claims of the run as one screen.
func (b *builder) claimsScreen() doc.Claims {
	out := doc.Claims{
		Title: b.Title, Measured: measuredIn(b.view), Notes: overviewNotes(b.view), Page: b.Page, Command: b.Full,
		Groups:   []doc.ClaimGroup{{Rows: claimRows(b.Run.Claims)}},
		Sentence: claimCounts(b.Run.Claims) + ".",
	}
	if limit, _, limited := strings.Cut(strings.Replace(b.conclusionPrefix(), "; of these: ", ": ", 1)+"\n", ": \n"); limited {
		out.Sentence = limit + ". " + out.Sentence
	}
	if b.Run.Noisy != "" {
		out.Notes = append([]doc.Note{{Text: "The run is too noisy to judge: " + b.Run.Noisy}}, out.Notes...)
	}
	return out
}

// claimCounts says how many claims have which outcome: "Claims: 4 hold, 1 does not hold, 2 cannot tell".
func claimCounts(claims []result.Claim) string {
	n := map[string]int{}
	for _, c := range claims {
		_, _, words := outcomeWords(c.Outcome)
		n[words]++
	}
	var parts []string
	for _, p := range []struct{ word, one, many string }{
		{"holds", "holds", "hold"}, {"does not hold", "does not hold", "do not hold"}, {"cannot tell", "cannot tell", "cannot tell"}, {"not run", "not run", "not run"},
	} {
		if n[p.word] > 0 {
			parts = append(parts, wording.Count(n[p.word], p.one, p.many))
		}
	}
	if len(parts) == 0 {
		return "Claims: none"
	}
	return "Claims: " + strings.Join(parts, ", ")
}

// claimsLine is how many claims hold, with the command that lists them; empty without claims.
func (b *builder) claimsLine() string {
	if len(b.Run.Claims) == 0 {
		return ""
	}
	line := claimCounts(b.Run.Claims)
	if b.ClaimsCommand != "" {
		line += ": " + b.ClaimsCommand
	}
	return line
}

// The legends of the section.
const (
	claimsLegend = "What was published, held against this run. A claim holds or does not hold only if the interval of this run shows it; otherwise it cannot be told here. " +
		"The set-ups differ: what was published is of another machine, network and year."
	claimsCaption = "Ratios as published and as found here, each with its interval where one is known. The line is at 1, no difference."
)

// claims are the published claims and what the run found about them.
func (b *builder) claims() []doc.Block {
	if len(b.Run.Claims) == 0 {
		return nil
	}
	rows := claimRows(b.Run.Claims)
	blocks := []doc.Block{doc.Paragraph{Text: claimCounts(b.Run.Claims) + "."}, forPages(doc.Paragraph{Role: doc.Legend, Text: claimsLegend}), forPages(claimTable(rows))}
	if f, ok := claimFigure(b.Run.Claims, rows); ok {
		blocks = append(blocks, forHTML(doc.Figure{Look: doc.Shown, ID: "claims-f", Drawings: []doc.Drawing{f}, Caption: claimsCaption}))
	}
	if items := claimDiffers(rows); len(items) > 0 {
		blocks = append(blocks, forPages(doc.Section{ID: "claims-differ", Head: doc.Heading{Text: "Why they may differ"}, Blocks: []doc.Block{doc.List{Role: doc.Summary, Items: items}}}))
	}
	for _, r := range rows {
		blocks = append(blocks, forTerminal(claimParagraphs(r)...))
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
		g := doc.Group{Rows: []doc.Row{{Cells: []doc.Cell{{Text: r.Claim, Small: r.Source}, {Text: r.Source}, {Text: r.Published}, {Text: orDash(r.Found), Tight: true}, outcome}}}}
		for _, p := range r.Points {
			g.Rows = append(g.Rows, doc.Row{Cells: []doc.Cell{{Text: "· " + p.Label}, {Blank: true}, {Blank: true}, {Text: orDash(p.Found), Tight: true}, {Text: p.Outcome, Tone: p.Tone}}})
		}
		t.Groups = append(t.Groups, g)
	}
	return t
}

func orDash(s string) string {
	if s == "" {
		return wording.Unknown
	}
	return s
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

// sentences joins texts, each with a full stop.
func sentences(texts []string) string {
	return strings.Join(each(texts, func(s string) string { return capital(strings.TrimRight(s, ". ")) + "." }), " ")
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
	panel := chart.Panel{Title: "ratio, published and found here", Axis: chart.Axis{Ratio: true, Ref: ptrTo(1.0)}}
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

func positive(v *float64) bool { return finite(v) && *v > 0 }

// drawn is an interval that an axis of ratios can have.
func drawn(ci *result.Interval) *[2]float64 {
	if ci == nil || !positive(&ci[0]) || !positive(&ci[1]) {
		return nil
	}
	return &[2]float64{ci[0], ci[1]}
}

// ClaimsOf are the claims of several studies, each with the run that they were held against, if any.
func ClaimsOf(all []result.StudyClaims) doc.Claims {
	var out doc.Claims
	var claims []result.Claim
	for _, s := range printable.Value(all) {
		g := doc.ClaimGroup{Study: s.Study, Title: s.Title, Run: s.Run, Rows: claimRows(fitClaims(s.Claims, nil, nil))}
		g.Text = "not run: " + s.Command
		if s.Run != "" {
			parts := []string{wording.Time(s.Started)}
			if s.Profile != "" {
				parts = append(parts, "profile "+s.Profile)
			}
			if s.Machine != "" {
				parts = append(parts, s.Machine)
			}
			g.Text = strings.Join(parts, ", ")
		}
		out.Groups = append(out.Groups, g)
		claims = append(claims, s.Claims...)
	}
	out.Sentence = claimCounts(claims) + "."
	return out
}

// ClaimTables are the claims of several studies as blocks: for each a heading, its run and a table.
func ClaimTables(all []result.StudyClaims) []doc.Block {
	c := ClaimsOf(all)
	out := []doc.Block{doc.Paragraph{Text: c.Sentence}}
	for _, g := range c.Groups {
		text := g.Text
		if g.Run != "" {
			text += ", " + g.Run
		}
		out = append(out, doc.Section{Head: doc.Heading{Name: g.Study, Text: g.Title}, Blocks: []doc.Block{doc.Paragraph{Text: text + "."}, claimTable(g.Rows)}})
	}
	return out
}
