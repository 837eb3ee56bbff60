// Package view makes of a run what a report says: the document, with every number worded,
// and the figures. What is shown, in which order and for which media is decided here.
//
// All media show the same things in the same words: every mode, measured or
// not, with the reason where not; every figure with its interval; the verdict in
// words; what was ruled out; what a careful reader must be warned of. They work
// on what there is: a run that was interrupted before its first trial is a
// report too.
package view

import (
	"slices"

	"tare/internal/printable"
	"tare/internal/report/wording"
	"tare/internal/result"
)

// Input is what a report is made of. Everything in it may come from outside and
// is cleaned and escaped for where it is shown.
type Input struct {
	Run         result.Run
	Trials      []result.Trial
	Title       string // of the study; the run's id when empty
	Description string
	Command     string // how to repeat the run; not shown when empty
	// FiguresDir is where, relative to the Markdown page, the files of Figures
	// are; the page shows no figures when it is empty.
	FiguresDir string
	// Page is the file of the report as a page and Full the command that prints the whole
	// report, as the first screen names them; empty without one.
	Page, Full string
}

// clean is in with every string fit to be shown on one line, and without the figures of
// modes that were not measured: a mode that is void, unsupported or failed has none,
// whatever a file says. It changes nothing of what it was given.
func (in Input) clean() Input {
	in.Title = wording.Cut(wording.Clean(in.Title), 1000)
	in.Description = wording.Cut(wording.CleanLines(in.Description), printable.MostProse)
	in.Command = printable.Prose(in.Command)
	in.Page, in.Full = printable.Prose(in.Page), printable.Prose(in.Full)
	in.Run, in.Trials = printable.Value(in.Run), printable.Value(in.Trials)
	if in.Title == "" {
		in.Title = "Run " + orUnknown(in.Run.ID)
	}
	r := &in.Run
	unfit := map[string]bool{}
	r.Modes = slices.Clone(r.Modes)
	for i, m := range r.Modes {
		unfit[m.ID] = unmeasured(m)
		r.Modes[i].Facts = together(m.Facts, r.Hosts)
	}
	r.Cells = fit(r.Cells, unfit, func(c result.Cell) string { return c.Mode })
	r.Breakdowns = fit(r.Breakdowns, unfit, func(b result.Breakdown) string { return b.Mode })
	r.Losses = fit(r.Losses, unfit, func(l result.LossSummary) string { return l.Mode })
	r.ECDFs = fit(r.ECDFs, unfit, func(e result.ECDF) string { return e.Mode })
	r.TCPLimits = fit(r.TCPLimits, unfit, func(l result.TCPLimits) string { return l.Mode })
	r.Comparisons = each(r.Comparisons, func(c result.Comparison) result.Comparison {
		if c.ID == "" {
			c.ID = c.A.ID + "/" + c.B.ID
		}
		if slices.ContainsFunc(slices.Concat(c.A.Terms(), c.B.Terms()), func(s *result.Side) bool { return unfit[s.Mode] }) {
			return withoutFigures(c)
		}
		return c
	})
	in.Trials = withoutUnfit(in.Trials, unfit)
	return in
}

// fit are those of modes that were measured.
func fit[T any](of []T, unfit map[string]bool, mode func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(of), func(x T) bool { return unfit[mode(x)] })
}

// withoutUnfit takes their figures from the trials of modes that were not measured. There
// may be very many trials: they are copied only if there are any such.
func withoutUnfit(trials []result.Trial, unfit map[string]bool) []result.Trial {
	copied := false
	for i := range trials {
		if !unfit[trials[i].Mode] {
			continue
		}
		if !copied {
			trials, copied = slices.Clone(trials), true
		}
		t := &trials[i]
		t.Metrics, t.Search, t.Steps = nil, nil, nil
	}
	return trials
}

// withoutFigures is a comparison of what was not measured.
func withoutFigures(c result.Comparison) result.Comparison {
	var side func(s result.Side) result.Side
	side = func(s result.Side) result.Side {
		bare := result.Side{ID: s.ID, Mode: s.Mode, Workload: s.Workload}
		if len(s.Of) > 0 {
			bare.Of = each(s.Of, side)
		}
		return bare
	}
	return result.Comparison{ID: c.ID, Title: c.Title, A: side(c.A), B: side(c.B), Reason: c.Reason}
}

// unmeasured says that a mode has no figures. A mode of a run that broke off may
// not have a status yet; its trials still count.
func unmeasured(m result.Mode) bool {
	return m.Status != result.ModeMeasured && m.Status != ""
}

// each is a new slice of f of every element.
func each[T any](in []T, f func(T) T) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
