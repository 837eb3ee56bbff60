package view

import (
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// modeSummary is one sentence about a mode: its cost by the primary metric of each workload.
// It begins with the mode's name.
type modeSummary struct {
	Mode    string
	Lead    string // before the clauses: "is a baseline: "
	Clauses []clause
}

// clause is the part of a summary about one workload.
type clause struct {
	Tone chart.Tone
	Text string
}

func modeSummaries(v view, families []family) []modeSummary {
	var out []modeSummary
	for _, f := range families {
		for _, m := range f.modes {
			out = append(out, summaryOf(v, m))
		}
	}
	return out
}

func summaryOf(v view, m result.Mode) modeSummary {
	if unmeasured(m) {
		return modeSummary{Mode: m.ID, Clauses: []clause{{chart.Absent, absence(m)}}}
	}
	a := modeSummary{Mode: m.ID}
	if l := limitsText(m); l != "" {
		a.Lead = "(limited to " + l + ") "
	}
	if m.Control {
		a.Lead += "is " + m.Baseline + " measured twice, the A/A control: "
	}
	const base = "is a baseline: "
	s := sentence{count: primaries(v)}
	cost, priced := costClause{}, false
	limited := len(v.Run.LinkLimited) > 0
	if limited { // goodput is the link's: CPU cost comes first
		if cost, priced = v.costOf(m.ID, &s); priced {
			a.Clauses = append(a.Clauses, clause{cost.row.tone(), cost.text})
		}
	}
	for _, w := range v.Workloads {
		for _, t := range w.Tables {
			if !t.Metric.Primary || v.swept(w.ID) {
				continue
			}
			for _, i := range t.at[m.ID] {
				r := t.flat[i]
				if r.Cell == nil || r.Cell.Value == nil && r.Cell.Ratio == nil {
					continue
				}
				if r.Baseline {
					a.Lead = strings.TrimSuffix(a.Lead, base) + base
				}
				text := s.clause(t, *r.Cell)
				if m.Control && r.Cell.Ratio != nil {
					text = s.control(t, r)
				}
				if r.Cell.Bands != nil {
					text += ", though its trials fall into two bands"
				}
				a.Clauses = append(a.Clauses, clause{r.tone(), text})
			}
		}
	}
	if !limited {
		if cost, priced = v.costOf(m.ID, &s); priced {
			if cost.row.Cell.Ratio != nil && len(a.Clauses) > 0 {
				cost.text = "and " + cost.text
			}
			a.Clauses = append(a.Clauses, clause{cost.row.tone(), cost.text})
		}
	}
	for _, sw := range v.Sweeps {
		if text := sw.words(m.ID); text != "" {
			a.Clauses = append(a.Clauses, clause{chart.Plain, text})
		}
	}
	for _, c := range v.Concurrencies {
		if text := c.words(m.ID); text != "" {
			a.Clauses = append(a.Clauses, clause{chart.Plain, text})
		}
	}
	if len(a.Clauses) == 0 {
		a.Clauses = []clause{{chart.Plain, unjudged(v, m)}}
	}
	return a
}

// unjudged describes a mode without a cell.
func unjudged(v view, m result.Mode) string {
	n := 0
	for _, t := range v.Trials {
		if t.Mode == m.ID && t.Status == result.TrialOK && !t.Aside() {
			n++
		}
	}
	if n == 0 {
		return "has no valid trial"
	}
	return "is not judged and has " + wording.Count(n, "valid trial", "valid trials")
}

// absence describes why a mode has no values.
func absence(m result.Mode) string {
	reason := strings.TrimRight(wording.Cut(m.Reason, longReason), ".")
	if reason == "" {
		reason = "no reason is recorded"
	}
	switch m.Status {
	case result.ModeVoid:
		return "is void, its path was not proven: " + reason
	case result.ModeUnsupported:
		return "is unsupported here: " + reason
	case result.ModeFailed:
		return "failed: " + reason
	}
	return "was not measured, " + string(m.Status) + ": " + reason
}

// primaries counts the workloads of each primary metric.
func primaries(v view) map[string]int {
	n := map[string]int{}
	for _, w := range v.Workloads {
		for _, t := range w.Tables {
			if t.Metric.Primary && !v.swept(w.ID) {
				n[t.Metric.Name]++
			}
		}
	}
	return n
}

// sentence holds what the earlier clauses have named.
type sentence struct {
	count map[string]int // workloads by metric
	verb  bool
	base  bool // the baseline has been named
}

func (s *sentence) clause(t table, c result.Cell) string {
	noun := noun(t.Metric)
	where := ""
	if s.count[t.Metric.Name] > 1 {
		where = " in " + t.Workload
	}
	switch {
	case c.Ratio == nil && c.Baseline == "":
		return noun + " " + valueOf(t, c) + where
	case c.Ratio == nil:
		return "has a " + noun + " of " + valueOf(t, c) + where + ", not compared"
	case c.Verdict == result.CannotTell:
		return "cannot be told from " + s.baseline(c.Baseline, "", "it") + " by " + noun + where + because(c)
	case c.Verdict == result.Same:
		text := s.verbFor(t.Metric) + "the same " + noun
		if !s.base {
			text += " as " + s.baseline(c.Baseline, "", "")
		}
		if c.Margin > 0 {
			text += " within " + wording.Percent(c.Margin)
		}
		return text + where
	}
	text := s.verbFor(t.Metric) + wording.Ratio(c.Ratio, c.RatioCI) + " " + wording.Of(*c.Ratio) + " " +
		s.baseline(c.Baseline, "'s", "its") + " " + noun + where
	switch {
	case c.Verdict == result.Small && c.Margin > 0:
		text += ", a difference of less than " + wording.Percent(c.Margin)
	case c.Verdict == "":
		text += ", not judged"
	}
	return text
}

// because returns the interval of an undecided difference and the blocks that would settle it,
// in brackets.
func because(c result.Cell) string {
	text := wording.Range(c)
	if n := c.BlocksNeeded; n != nil && *n > 0 && !c.AtLeast {
		one, many := "more block", "more blocks"
		if c.Unpaired {
			one, many = "more value of each", "more values of each"
		}
		text = strings.TrimPrefix(text+"; would need about "+wording.Count(*n, one, many), "; ")
	}
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// control describes the noise that a control shows in a metric.
func (s *sentence) control(t table, r row) string {
	c := *r.Cell
	text := noun(t.Metric) + " " + wording.Ratio(c.Ratio, c.RatioCI)
	if s.count[t.Metric.Name] > 1 {
		text += " in " + t.Workload
	}
	if floor, ok := noise(c); ok && !c.AtLeast && !r.Bounded && !r.strange() {
		text += ", so that less than " + floor + " is noise"
	}
	return text
}

func (s *sentence) verbFor(m result.Metric) string {
	if s.verb {
		return ""
	}
	s.verb = true
	switch {
	case m.Name == "goodput":
		return "carries "
	case m.Better == result.Lower:
		return "has "
	}
	return "reaches "
}

// baseline is the baseline's name with a suffix, or later a pronoun.
func (s *sentence) baseline(name, suffix, pronoun string) string {
	if s.base || name == "" {
		if pronoun == "" {
			return "it"
		}
		return pronoun
	}
	s.base = true
	return name + suffix
}

func valueOf(t table, c result.Cell) string {
	text := wording.AtLeast(c, t.Scale.Estimate(c.Value, c.CI))
	if text != wording.Unknown && t.Scale.Unit != "" {
		text += " " + t.Scale.Unit
	}
	return text
}

// leads are the paragraphs before the summaries.
func (b *builder) leads() []doc.Block {
	var out []doc.Block
	for _, text := range b.Evidence.Lead {
		out = append(out, doc.Paragraph{Role: doc.Lead, Text: text, Tight: true})
	}
	return out
}

// items are the summaries as list items.
func (b *builder) items() []doc.Item {
	var out []doc.Item
	for _, a := range b.Summaries {
		i := doc.Item{Name: a.Mode, Text: a.Lead, Group: b.numbers[a.Mode]}
		for _, c := range a.Clauses {
			i.Clauses = append(i.Clauses, doc.Clause{Tone: c.Tone, Text: c.Text})
		}
		out = append(out, i)
	}
	return out
}
