package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/warning"
	"tare/internal/wording"
)

// ConclusionPrefix is what limits the answer as a whole; empty for a complete run with enough blocks.
func (b *Builder) ConclusionPrefix() string {
	v, prefix := b.View, ""
	switch {
	case v.Run.Status == result.RunInterrupted || v.Run.Status == result.RunFailed:
		prefix = fmt.Sprintf("The run was %s after %s; of these: ", v.Run.Status, wording.Count(v.TrialCounts.OK, "valid trial", "valid trials"))
		if v.Run.Status == result.RunFailed {
			prefix = strings.Replace(prefix, "The run was failed", "The run failed", 1)
		}
	case indicative(v.Run):
		prefix = "Indicative only (" + wording.Count(blocks(v), "block", "blocks") + ", warm-up not verified): "
	}
	return prefix
}

// MeasuredIn says how much was measured.
func MeasuredIn(v View) string {
	var parts []string
	if v.Run.Source != "" {
		parts = append(parts, Paired(v.Run))
	}
	if v.Run.Profile != "" {
		parts = append(parts, "profile "+v.Run.Profile)
	}
	if n := blocks(v); n > 0 && v.Run.Source == "" {
		parts = append(parts, wording.Count(n, "block", "blocks"))
	}
	trials := wording.Count(v.TrialCounts.OK, "valid trial", "valid trials")
	if v.Run.Source != "" {
		trials = wording.Count(v.TrialCounts.OK, "value", "values")
	}
	if out := v.TrialCounts.Invalid + v.TrialCounts.Failed; out > 0 {
		trials += fmt.Sprintf(" and %d ruled out or failed", out)
	}
	parts = append(parts, trials)
	if d := Took(v.Run); d != "" {
		parts = append(parts, d)
	}
	return strings.Join(parts, ", ")
}

// OverviewLegend explains the marks that the table has.
func OverviewLegend(o doc.Overview, cells []result.Cell) []string {
	seen := map[string]bool{}
	var sender bool
	for _, g := range o.Groups {
		for _, r := range g.Rows {
			for _, c := range r.Cells {
				seen[c.Mark] = true
				sender = sender || c.Change == "(sender limit)"
			}
		}
	}
	unsure := "cannot tell"
	if few := slices.ContainsFunc(cells, func(c result.Cell) bool { return wording.TooFew(c) != "" }); few {
		unsure += " (fewer than three blocks or values)"
	} else if slices.ContainsFunc(cells, func(c result.Cell) bool {
		return c.Verdict == result.CannotTell && c.RatioCI != nil && (c.RatioCI[0] > 1 || c.RatioCI[1] < 1)
	}) {
		unsure += " (an interval without 0: several modes are compared, so more is needed)"
	}
	within := "within the margin"
	margins := map[float64]bool{}
	for _, c := range cells {
		if c.Margin > 0 {
			margins[c.Margin] = true
		}
	}
	if len(margins) == 1 {
		for m := range margins {
			within = "within " + wording.Percent(m)
		}
	}
	var out []string
	for _, m := range []struct{ mark, means string }{
		{piece.MarkOf(chart.Worse), "worse"}, {piece.MarkOf(chart.Better), "better"}, {piece.MarkOf(chart.Same), "same " + within},
		{piece.MarkOf(chart.Unsure), unsure},
	} {
		if seen[m.mark] {
			out = append(out, m.mark+" "+m.means)
		}
	}
	if len(out) > 0 {
		out = append(out, "(..) 95 % interval")
	}
	if sender {
		out = append(out, "sender limit: the sender could not keep up")
	}
	return out
}

// OverviewNotes are what biases the comparison, the most important first.
func OverviewNotes(v View) []doc.Note {
	out := noEngine(v.Run.Modes)
	for _, n := range differingControls(v) {
		out = append(out, doc.Note{Text: n.Text})
	}
	for _, n := range oldEngines(v) {
		out = append(out, doc.Note{Text: n.Text})
	}
	for _, p := range v.Run.Paces {
		out = append(out, doc.Note{Text: p.Workload + " is " + wording.Pace(p)})
	}
	for _, text := range v.Evidence.Lead {
		out = append(out, doc.Note{Text: text})
	}
	return append(out, BiasNotes(v.Run)...)
}

// noEngine says that a run without a mode of an engine measured only the kernel's part of what it names.
func noEngine(modes []result.Mode) []doc.Note {
	var like []string
	for _, m := range modes {
		switch {
		case m.Like != "":
			if !slices.Contains(like, m.Like) {
				like = append(like, m.Like)
			}
		case m.Baseline != "" && !m.Control && !strings.HasPrefix(cmp.Or(m.Mode, m.ID), "netns/"):
			return nil
		}
	}
	if len(like) == 0 {
		return nil
	}
	return []doc.Note{{Text: "namespaces, not Docker: an engine adds to these; measure it: sudo tare run --modes host," + strings.Join(like, ",")}}
}

// AbsentNotes are the reasons why modes have no values, modes with the same one together.
func AbsentNotes(modes []result.Mode) []doc.Note {
	var out []doc.Note
	for _, m := range modes {
		if !Unmeasured(m) {
			continue
		}
		text := Fate(m)
		if m.Reason == "" {
			text += ": no reason is recorded"
		}
		i := slices.IndexFunc(out, func(n doc.Note) bool { return n.Text == text })
		if i < 0 {
			i = len(out)
			out = append(out, doc.Note{Text: text})
		}
		out[i].About = append(out[i].About, m.ID)
	}
	return out
}

// Grouped are the warnings of a run, those with one code as one.
func Grouped(run result.Run) []analysis.Grouped {
	modes := make([]string, len(run.Modes))
	for i, m := range run.Modes {
		modes[i] = m.ID
	}
	return analysis.Group(run.Warnings, modes...)
}

// BiasNotes are the warnings that bias or void a comparison, the same warning of several
// modes as one note.
func BiasNotes(run result.Run) []doc.Note {
	measured := 0
	for _, m := range run.Modes {
		if !Unmeasured(m) {
			measured++
		}
	}
	var out []doc.Note
	for _, g := range Grouped(run) {
		if g.Severity == warning.Bias {
			if len(g.Modes) > 1 && len(g.Modes) == measured {
				g.Modes = []string{"all modes"}
			}
			out = append(out, doc.Note{About: g.Modes, Text: g.Text})
		}
	}
	return out
}
