package model

import (
	"slices"
	"time"

	"tare/internal/analysis/verdict"
	"tare/internal/printable"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Input is the data of a report. All of it may be of foreign origin; it is cleaned here and
// escaped by the writers.
type Input struct {
	Run         result.Run
	Trials      []result.Trial
	Title       string // of the study; the run's id when empty
	Description string
	Command     string // how to repeat the run; not shown when empty
	// Page is the file of the report as a page and Full the command that prints the whole
	// report, as the first screen names them; empty without one. ClaimsCommand prints the claims.
	Page, Full, ClaimsCommand string
	Units                     Units // of changes on the first screen
	// RTT is a round trip of the reader's own network, for which the first screen translates what modes add; 0 for none.
	RTT time.Duration
	// RTTOf is the machine to which the RTT was measured; empty if it was given.
	RTTOf string
}

// Units are in what a first screen shows changes.
type Units string

// The units. The empty one is UnitBoth.
const (
	UnitBoth    Units = "both"    // percent, and beside it the time that each exchange takes longer
	UnitPercent Units = "percent" // percent alone
	UnitTime    Units = "time"    // time in its place, where a metric has it
)

// clean returns in with every string cleaned for one line and without values of modes that
// were not measured: a mode that is void, unsupported or failed has none, whatever a file
// contains. It does not change in.
func (in Input) clean() Input {
	in.Title = wording.Cut(wording.Clean(in.Title), 1000)
	in.Description = wording.Cut(wording.CleanLines(in.Description), printable.MostProse)
	in.Command, in.RTTOf = printable.Prose(in.Command), wording.Clean(in.RTTOf)
	in.Page, in.Full, in.ClaimsCommand = printable.Prose(in.Page), printable.Prose(in.Full), printable.Prose(in.ClaimsCommand)
	in.Run, in.Trials = printable.Value(in.Run), printable.Value(in.Trials)
	if in.Title == "" {
		in.Title = "Run " + piece.OrUnknown(in.Run.ID)
	}
	r := &in.Run
	unfit := map[string]bool{}
	r.Modes = slices.Clone(r.Modes)
	for i, m := range r.Modes {
		unfit[m.ID] = Unmeasured(m)
		r.Modes[i].Facts = together(m.Facts, r.Hosts)
	}
	r.Cells = piece.Each(fit(r.Cells, unfit, func(c result.Cell) string { return c.Mode }), verdict.WithoutTails)
	r.Rankings = piece.Each(r.Rankings, func(o result.Ranking) result.Ranking { return cleanRanking(o, unfit) })
	r.Breakdowns = fit(r.Breakdowns, unfit, func(b result.Breakdown) string { return b.Mode })
	r.Attempts = slices.DeleteFunc(slices.Clone(r.Attempts), func(a result.AttemptSummary) bool {
		return slices.ContainsFunc(r.Modes, func(m result.Mode) bool { return m.ID == a.Mode && m.Status == result.ModeVoid })
	})
	r.Losses = fit(r.Losses, unfit, func(l result.LossSummary) string { return l.Mode })
	r.SetupTimes = fit(r.SetupTimes, unfit, func(s result.SetupTime) string { return s.Mode })
	r.SetupGrowths = slices.DeleteFunc(slices.Clone(r.SetupGrowths), func(g result.SetupGrowth) bool {
		return slices.ContainsFunc(g.Modes, func(id string) bool { return unfit[id] })
	})
	r.ECDFs = fit(r.ECDFs, unfit, func(e result.ECDF) string { return e.Mode })
	r.Sensitivity = slices.DeleteFunc(fit(r.Sensitivity, unfit, func(s result.Sensitivity) string { return s.Mode }), func(s result.Sensitivity) bool { return len(s.Settings) < 2 })
	r.OwnShares = fit(r.OwnShares, unfit, func(o result.OwnShare) string { return o.Baseline })
	for i, o := range r.OwnShares {
		r.OwnShares[i].Modes = fit(o.Modes, unfit, func(m result.OwnRatio) string { return m.Mode })
	}
	r.Concurrencies = fitCrossings(r.Concurrencies, unfit)
	r.TCPLimits = fit(r.TCPLimits, unfit, func(l result.TCPLimits) string { return l.Mode })
	r.Comparisons = slices.DeleteFunc(slices.Clone(r.Comparisons), func(c result.Comparison) bool { return beyondP99(c.Metric) })
	r.Comparisons = piece.Each(r.Comparisons, func(c result.Comparison) result.Comparison {
		if c.ID == "" {
			c.ID = c.A.ID + "/" + c.B.ID
		}
		if slices.ContainsFunc(slices.Concat(c.A.Terms(), c.B.Terms()), func(s *result.Side) bool { return unfit[s.Mode] }) {
			return withoutFigures(c)
		}
		return c
	})
	r.CostByParts = fitCosts(r.CostByParts, unfit)
	r.Claims = FitClaims(r.Claims, r.Scenarios, unfit)
	in.Trials = withoutUnfit(in.Trials, unfit)
	return in
}

// Unmeasured reports whether a mode has no values. A mode of an interrupted run may have no
// status yet; its trials still count.
func Unmeasured(m result.Mode) bool {
	return m.Status != result.ModeMeasured && m.Status != ""
}

// beyondP99 reports whether a metric is a percentile beyond the 99th.
func beyondP99(metric string) bool {
	_, beyond := result.BeyondP99(metric)
	return beyond
}
