package model

import (
	"strings"

	"tare/internal/result"
	"tare/internal/wording"
)

// costClause is the CPU cost of a mode against its baseline, as a clause.
type costClause struct {
	Row  Row
	Text string
}

// CostOf returns the main CPU cost of a mode: at the fixed rate, or else of the first bulk
// workload. False where there is none.
func (v View) CostOf(mode string, s *Sentence) (costClause, bool) {
	var bills []CPUCost
	at := ""
	if p := v.Evidence.Pass; p != nil && p.CPUCost != nil {
		bills = append(bills, *p.CPUCost)
		if p.Rate != "" {
			at = " at " + p.Rate
		}
	}
	for i, b := range append(bills, v.Evidence.CPUCosts...) {
		r, ok := b.Cost.Of(mode)
		if !ok || r.Cell == nil || Unmeasured(r.Mode) || r.Mode.Control {
			continue
		}
		if i >= len(bills) {
			at = ""
			if len(v.Evidence.CPUCosts) > 1 {
				at = " in " + b.Workload
			}
		}
		if text := s.costText(b.Cost, *r.Cell); text != "" {
			return costClause{r, text + at}, true
		}
	}
	return costClause{}, false
}

// costText formats a cell of CPU cost as the last clause of a sentence; empty without a value.
func (s *Sentence) costText(t Table, c result.Cell) string {
	switch {
	case c.Ratio == nil && c.Baseline == "" && c.Value != nil:
		return "CPU cost " + valueOf(t, c)
	case c.Ratio == nil:
		return ""
	case c.Verdict == result.Worse || c.Verdict == result.Better:
		return "costs " + wording.Ratio(c.Ratio, c.RatioCI) + " " + wording.Of(*c.Ratio) + " " + s.baseline(c.Baseline, "'s", "its") + " CPU" + per(t)
	case c.Verdict == result.Same && c.Margin > 0:
		return "costs the same CPU" + per(t) + " within " + wording.Percent(c.Margin)
	case c.Verdict == result.Small && c.Margin > 0:
		return "costs " + wording.Ratio(c.Ratio, c.RatioCI) + " " + wording.Of(*c.Ratio) + " " + s.baseline(c.Baseline, "'s", "its") + " CPU" + per(t) + ", a difference of less than " + wording.Percent(c.Margin)
	case c.Verdict == result.CannotTell:
		return "cannot be told from " + s.baseline(c.Baseline, "", "it") + " by CPU cost" + because(c)
	}
	return ""
}

// per is the unit of work of a cost: " per Gbit".
func per(t Table) string {
	_, of, ok := strings.Cut(t.Metric.Unit, "/")
	if !ok {
		return ""
	}
	return " per " + of
}

// leads compare modes that all reach the limit of the link.
func leads(v View) []string {
	var out []string
	for _, l := range v.Run.LinkLimited {
		text := "All modes reach the link's limit in " + l.Workload
		if l.Link > 0 {
			text += " (" + wording.Value(l.Link, "bit/s") + ")"
		}
		var costs []string
		for _, m := range v.Run.Modes {
			if Unmeasured(m) || m.Baseline == "" || m.Control {
				continue
			}
			s := Sentence{}
			if p, ok := v.CostOf(m.ID, &s); ok {
				costs = append(costs, m.ID+" "+p.Text)
			}
		}
		if len(costs) == 0 {
			out = append(out, text+", so goodput does not distinguish them; their CPU cost is unknown.")
			continue
		}
		out = append(out, text+", so compare their CPU cost: "+strings.Join(costs, "; ")+".")
	}
	return out
}

// Sentence holds what the earlier clauses have named.
type Sentence struct {
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
func (s *Sentence) baseline(name, suffix, pronoun string) string {
	if s.base || name == "" {
		if pronoun == "" {
			return "it"
		}
		return pronoun
	}
	s.base = true
	return name + suffix
}
