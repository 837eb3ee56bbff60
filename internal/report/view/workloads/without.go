package workloads

import (
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// withoutWorkloads says of each mode of a run without workloads why it has no values, or what its CPU costs.
func withoutWorkloads(b *model.Builder) []doc.Item {
	var out []doc.Item
	for _, m := range b.Modes {
		i := doc.Item{Name: m.ID, Group: b.Numbers[m.ID]}
		clause := doc.Clause{Tone: chart.Plain, Text: unjudged(b.View, m)}
		s := model.Sentence{}
		if model.Unmeasured(m) {
			clause = doc.Clause{Tone: chart.Absent, Text: absence(m)}
		} else {
			if l := model.LimitsText(m); l != "" {
				i.Text = "(limited to " + l + ") "
			}
			if m.Control {
				i.Text += "is " + m.Baseline + " measured twice, the A/A control: "
			}
			if cost, priced := b.CostOf(m.ID, &s); priced {
				clause = doc.Clause{Tone: cost.Row.Tone(), Text: cost.Text}
			}
		}
		i.Clauses = []doc.Clause{clause}
		out = append(out, i)
	}
	return out
}

// unjudged describes a mode without a cell.
func unjudged(v model.View, m result.Mode) string {
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
	reason := strings.TrimRight(wording.Cut(m.Reason, piece.LongReason), ".")
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
