package view

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/result"
	"tare/internal/wording"
)

// longReason is how many columns of a reason a table or a sentence holds; the list of modes
// has all of it.
const longReason = 300

// notice is text at the top of the report.
type notice struct {
	Grave bool
	Text  string
}

// notices are what limits the whole report.
func notices(v view) []notice {
	var out []notice
	switch v.Run.Status {
	case result.RunComplete:
	case result.RunInterrupted:
		out = append(out, notice{true, "This run was interrupted. The results are from the " +
			wording.Count(v.TrialCounts.OK, "valid trial", "valid trials") + " before that."})
	case result.RunFailed:
		out = append(out, notice{true, "This run failed. The results are from the " +
			wording.Count(v.TrialCounts.OK, "valid trial", "valid trials") + " before that."})
	default:
		out = append(out, notice{true, "It is not recorded how this run ended."})
	}
	if v.TrialCounts.OK == 0 && len(v.Run.Cells) == 0 {
		out = append(out, notice{true, "No trial is valid: there are no results."})
	}
	if v.Run.Noisy != "" {
		out = append(out, notice{true, "This run is too noisy to judge: " + strings.TrimRight(v.Run.Noisy, ".") + ". Values and intervals are as measured; " +
			"every verdict is \"cannot tell\". The exit code of such a run is 4."})
	}
	out = append(out, oldEngines(v)...)
	out = append(out, differingControls(v)...)
	if slices.ContainsFunc(v.Run.Cells, func(c result.Cell) bool { return c.Indicative }) {
		out = append(out, notice{false, "Indicative only: " + wording.Count(blocks(v), "block", "blocks") +
			", warm-up not verified."})
	}
	return out
}

// differingControls are controls that differ from the baseline in a main metric.
func differingControls(v view) []notice {
	var out []notice
	for _, w := range v.Workloads {
		for _, t := range w.Tables {
			for _, r := range t.rows() {
				if t.Metric.Primary && r.strange() {
					out = append(out, notice{true, fmt.Sprintf("The A/A control, which is %s measured twice, is %s: %s in %s %s. "+
						"Something other than the mode affects trials here: do not rely on differences of that size.",
						r.Cell.Baseline, wording.Word(r.Cell.Verdict), r.ratio(), w.ID, noun(t.Metric))})
				}
			}
		}
	}
	return out
}

// blocks is the number of blocks of the run.
func blocks(v view) int {
	n := 0
	for _, t := range v.Trials {
		n = max(n, t.Block)
	}
	for _, c := range v.Run.Cells {
		n = max(n, c.N)
	}
	return n
}

// state describes the status of a mode without values, without the reason.
func state(m result.Mode) string {
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

// fate is state with the reason.
func fate(m result.Mode) string {
	if m.Reason == "" {
		return state(m)
	}
	if m.Status == result.ModeVoid {
		return "void: " + m.Reason
	}
	return string(m.Status) + ": " + m.Reason
}

// verdict returns the verdict of a row, or its status.
func (r row) verdict() string {
	switch {
	case unmeasured(r.Mode):
		return fate(r.Mode)
	case r.Cell == nil:
		return r.unjudged()
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

// unjudged counts the trials of a row without a cell, and gives the reason where none is
// valid.
func (r row) unjudged() string {
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

// tone is the shape and colour of a row.
func (r row) tone() chart.Tone {
	if unmeasured(r.Mode) {
		return chart.Absent
	}
	if r.Cell == nil || r.Mode.Control && !r.strange() {
		return chart.Plain
	}
	return toneOf(r.Cell.Verdict)
}

func toneOf(v result.Verdict) chart.Tone {
	switch v {
	case result.Worse:
		return chart.Worse
	case result.Better:
		return chart.Better
	case result.Same:
		return chart.Same
	case result.Small:
		return chart.Small
	case result.CannotTell:
		return chart.Unsure
	}
	return chart.Plain
}

// place describes a trial by its place in the run.
func place(t result.Trial) string {
	s := fmt.Sprintf("trial %d, block %d, %s %s", t.Seq, t.Block, t.Mode, t.Workload)
	if t.Pilot {
		s = fmt.Sprintf("trial %d, pilot, %s %s", t.Seq, t.Mode, t.Workload)
	}
	if t.Paces {
		s = fmt.Sprintf("trial %d, to find a rate, %s %s", t.Seq, t.Mode, t.Workload)
	}
	if t.Profiled {
		s += ", to sample stacks"
	}
	if t.Attempt > 1 {
		s += fmt.Sprintf(", attempt %d", t.Attempt)
	}
	if t.Requeued {
		s += ", run again"
	}
	return s
}
