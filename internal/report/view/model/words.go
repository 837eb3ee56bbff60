package model

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// notices are what limits the whole report.
func notices(v View) []doc.Notice {
	var out []doc.Notice
	switch v.Run.Status {
	case result.RunComplete:
	case result.RunInterrupted:
		out = append(out, doc.Notice{Grave: true, Text: "This run was interrupted. The results are from the " +
			wording.Count(v.TrialCounts.OK, "valid trial", "valid trials") + " before that."})
	case result.RunFailed:
		out = append(out, doc.Notice{Grave: true, Text: "This run failed. The results are from the " +
			wording.Count(v.TrialCounts.OK, "valid trial", "valid trials") + " before that."})
	default:
		out = append(out, doc.Notice{Grave: true, Text: "It is not recorded how this run ended."})
	}
	if v.TrialCounts.OK == 0 && len(v.Run.Cells) == 0 {
		out = append(out, doc.Notice{Grave: true, Text: "No trial is valid: there are no results."})
	}
	if v.Run.Noisy != "" {
		out = append(out, doc.Notice{Grave: true, Text: "This run is too noisy to judge: " + strings.TrimRight(v.Run.Noisy, ".") + ". Values and intervals are as measured; " +
			"every verdict is \"cannot tell\". The exit code of such a run is 4."})
	}
	out = append(out, oldEngines(v)...)
	out = append(out, differingControls(v)...)
	if indicative(v.Run) {
		out = append(out, doc.Notice{Text: "Indicative only: " + wording.Count(blocks(v), "block", "blocks") +
			", warm-up not verified."})
	}
	return out
}

// indicative reports whether a run as a whole is indicative only. A verdict of one set-up says so itself.
func indicative(run result.Run) bool {
	return slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Indicative && c.Setups != 1 })
}

// differingControls are controls that differ from the baseline in a main metric.
func differingControls(v View) []doc.Notice {
	var out []doc.Notice
	for _, w := range v.Workloads {
		for _, t := range w.Tables {
			for _, r := range t.Rows() {
				if t.Metric.Primary && r.Strange() {
					out = append(out, doc.Notice{Grave: true, Text: fmt.Sprintf("The A/A control, which is %s measured twice, is %s: %s in %s %s. "+
						"Something other than the mode affects trials here: do not rely on differences of that size.",
						r.Cell.Baseline, wording.Word(r.Cell.Verdict), r.Ratio(), w.ID, piece.Noun(t.Metric))})
				}
			}
		}
	}
	return out
}

// State describes the status of a mode without values, without the reason.
func State(m result.Mode) string {
	switch m.Status {
	case result.ModeVoid:
		return "void: its path was not proven"
	case result.ModeUnsupported:
		return "unsupported here"
	case result.ModeFailed:
		return "failed"
	}
	return string(m.Status)
}

// Fate is state with the reason.
func Fate(m result.Mode) string {
	if m.Reason == "" {
		return State(m)
	}
	if m.Status == result.ModeVoid {
		return "void: " + m.Reason
	}
	return string(m.Status) + ": " + m.Reason
}

// Verdict returns the verdict of a row, or its status.
func (r Row) Verdict() string {
	switch {
	case Unmeasured(r.Mode):
		return Fate(r.Mode)
	case r.Cell == nil:
		return r.Unjudged()
	case r.Baseline && r.Cell.Verdict == "":
		return "baseline"
	case r.Mode.Control && r.Cell.Baseline != "":
		return r.control(false)
	}
	if d := r.doubt(); d != "" {
		return d
	}
	return wording.Verdict(*r.Cell)
}

// Unjudged counts the trials of a row without a cell, and gives the reason where none is
// valid.
func (r Row) Unjudged() string {
	var ok, invalid, failed, figures int
	why := ""
	for _, t := range r.Trials {
		if t.Reason != "" {
			why = ": " + t.Reason
		}
		switch t.Status {
		case result.TrialOK:
			ok++
			if _, has := t.Metrics[r.Metric]; has {
				figures++
			}
		case result.TrialInvalid:
			invalid++
		default:
			failed++
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{ok, "valid"}, {invalid, "invalid"}, {failed, "failed"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	if len(parts) == 0 {
		return "no trial"
	}
	if ok == 0 {
		return "no valid trial, " + strings.Join(parts, ", ") + why
	}
	if r.Metric != "" && figures == 0 {
		return "no value from " + wording.Count(ok, "valid trial", "valid trials")
	}
	return "not judged; trials: " + strings.Join(parts, ", ")
}

// Tone is the shape and colour of a row.
func (r Row) Tone() chart.Tone {
	if Unmeasured(r.Mode) {
		return chart.Absent
	}
	if r.Cell == nil || r.Mode.Control && !r.Strange() {
		return chart.Plain
	}
	return piece.ToneOf(r.Cell.Verdict)
}
