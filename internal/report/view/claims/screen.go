package claims

import (
	"strings"

	"tare/internal/printable"
	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

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
	out := piece.Values(c.Value)
	for _, p := range c.Points {
		out = append(out, piece.Values(p.Value)...)
	}
	if len(out) == 0 {
		out = piece.Values(c.PublishedValue)
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

// Screen is the claims of the run as one screen.
func Screen(b *model.Builder) doc.Claims {
	out := doc.Claims{
		Title: b.Title, Measured: model.MeasuredIn(b.View), Notes: model.OverviewNotes(b.View), Page: b.Page, Command: b.Full,
		Groups:   []doc.ClaimGroup{{Rows: claimRows(b.Run.Claims)}},
		Sentence: claimCounts(b.Run.Claims) + ".",
	}
	if limit, _, limited := strings.Cut(strings.Replace(b.ConclusionPrefix(), "; of these: ", ": ", 1)+"\n", ": \n"); limited {
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

// Line is how many claims hold, with the command that lists them; empty without claims.
func Line(b *model.Builder) string {
	if len(b.Run.Claims) == 0 {
		return ""
	}
	line := claimCounts(b.Run.Claims)
	if b.ClaimsCommand != "" {
		line += ": " + b.ClaimsCommand
	}
	return line
}

// sentences joins texts, each with a full stop.
func sentences(texts []string) string {
	return strings.Join(piece.Each(texts, func(s string) string { return piece.Capital(strings.TrimRight(s, ". ")) + "." }), " ")
}

// Of are the claims of several studies, each with the run that they were held against, if any.
func Of(all []result.StudyClaims) doc.Claims {
	var out doc.Claims
	var claims []result.Claim
	for _, s := range printable.Value(all) {
		g := doc.ClaimGroup{Study: s.Study, Title: s.Title, Run: s.Run, Rows: claimRows(model.FitClaims(s.Claims, nil, nil))}
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

// Tables are the claims of several studies as blocks: for each a heading, its run and a table.
func Tables(all []result.StudyClaims) []doc.Block {
	c := Of(all)
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
