package view

import (
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// withoutWorkloads says of each mode of a run without workloads why it has no values, or what its CPU costs.
func (b *builder) withoutWorkloads() []doc.Item {
	var out []doc.Item
	for _, m := range b.Modes {
		i := doc.Item{Name: m.ID, Group: b.numbers[m.ID]}
		clause := doc.Clause{Tone: chart.Plain, Text: unjudged(b.view, m)}
		s := sentence{}
		if unmeasured(m) {
			clause = doc.Clause{Tone: chart.Absent, Text: absence(m)}
		} else {
			if l := limitsText(m); l != "" {
				i.Text = "(limited to " + l + ") "
			}
			if m.Control {
				i.Text += "is " + m.Baseline + " measured twice, the A/A control: "
			}
			if cost, priced := b.costOf(m.ID, &s); priced {
				clause = doc.Clause{Tone: cost.row.tone(), Text: cost.text}
			}
		}
		i.Clauses = []doc.Clause{clause}
		out = append(out, i)
	}
	return out
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

// sentence holds what the earlier clauses have named.
type sentence struct {
	base bool // the baseline has been named
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
