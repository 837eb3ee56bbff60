// Package change shows what changed from one run to another, or to those before it.
package change

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/printable"
	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Full describes what changed from one run to another: first the settings, then cell by
// cell.
func Full(c result.Changes) doc.Changes {
	v := changesView{printable.Value(c)}
	before, legend := runRef(v.Before), changesLegend
	if v.Basis != nil {
		before, legend = v.basis(), basisLegend
	}
	if slices.ContainsFunc(v.Cells, func(c result.Change) bool { return c.Added != nil }) {
		legend += " " + timesLegend
	}
	return doc.Changes{Before: before, After: runRef(v.After), Notes: v.sections(), Tables: v.tables(), Legend: legend}
}

const changesLegend = "Before and after are ratios to the baseline; a change is that of the ratio, with the interval that the spread of " +
	"both runs gives. A baseline's own values change with the machine. Two runs are one sample each: variation from run to " +
	"run is in no interval."

const timesLegend = "Beside it is the time, with its 95 % interval: how much more a mode adds to its baseline than before, or a baseline takes. " +
	"A time changes with the machine more than a ratio does, and has no verdict."

const basisLegend = "Before and after are ratios to the baseline: before is their geometric mean over the earlier runs since the level last changed, " +
	"after that of the last runs that were compared. A change is that of the ratio, with the 95 % interval that the spread from run to run gives."

// basis describes the earlier runs that a run was judged by.
func (v changesView) basis() string {
	runs := v.Basis.Runs
	text := wording.Count(len(runs), "earlier run", "earlier runs") + " on " + piece.OrUnknown(v.Basis.Machine)
	switch n := len(runs); n {
	case 0:
	case 1:
		text += ", of " + runs[0].Started
	default:
		text += ", from " + runs[0].Started + " to " + runs[n-1].Started
	}
	return text
}

// basisNotes are the lines about the earlier runs, by heading.
func (v changesView) basisNotes() []doc.Notes {
	if v.Basis == nil {
		return nil
	}
	var out []doc.Notes
	if v.Basis.Reason != "" {
		out = append(out, doc.Notes{Heading: "! Nothing can be told", Lines: []string{v.Basis.Reason}})
	}
	var lines []string
	for _, l := range v.Basis.LeftOut {
		lines = append(lines, l.Path+": "+l.Reason)
	}
	if len(lines) > 0 {
		out = append(out, doc.Notes{Heading: "Runs that were left out", Lines: lines})
	}
	return out
}

func runRef(r result.RunRef) string {
	parts := []string{"run " + piece.OrUnknown(r.ID), r.Started, "tare " + piece.OrUnknown(r.Tare.Version)}
	if r.Profile != "" {
		parts = append(parts, "profile "+r.Profile)
	}
	if r.Status != result.RunComplete {
		parts = append(parts, string(r.Status))
	}
	return strings.Join(parts, ", ")
}

// changesView formats changes.
type changesView struct{ result.Changes }

// sections are the paragraphs above the tables.
func (v changesView) sections() []doc.Notes {
	out := v.basisNotes()
	add := func(heading string, lines []string) {
		if len(lines) > 0 {
			out = append(out, doc.Notes{Heading: heading, Lines: lines})
		}
	}
	for _, w := range v.Warnings {
		add("! Different machines", []string{piece.Capital(w.Text)})
	}
	if v.Noisy != "" {
		add("! Nothing can be told", []string{v.Noisy})
	}
	var lines []string
	for _, d := range v.settings() {
		lines = append(lines, difference(d.Scope, d.Name, d.Before, d.After))
	}
	heading := "The two runs differ in their settings"
	if v.Basis != nil {
		heading = "The run differs from the one before in its settings"
	}
	add(heading, lines)
	lines = nil
	for _, m := range v.Modes {
		text := fmt.Sprintf("%s: %s, now %s", m.Mode, statusWord(m.Before), statusWord(m.After))
		if m.Reason != "" {
			text += ": " + m.Reason
		}
		lines = append(lines, text)
	}
	add("Modes whose status changed", lines)
	lines = nil
	for _, m := range v.Missing {
		lines = append(lines, m.String())
	}
	add("Measured before and not now", lines)
	lines = nil
	for _, r := range v.Refused {
		lines = append(lines, refused(r))
	}
	add("Not comparable", lines)
	if len(v.Cells) == 0 && v.Basis == nil {
		add("Nothing was compared", []string{"no cell is in both runs and comparable"})
	}
	return out
}

// settings are the differences between the environments that no warning has.
func (v changesView) settings() []result.Difference {
	return slices.DeleteFunc(slices.Clone(v.Environment), func(d result.Difference) bool {
		return slices.ContainsFunc(v.Machine, func(m result.Difference) bool { return m.Scope == d.Scope && m.Name == d.Name })
	})
}

func difference(scope, name, before, after string) string {
	value := func(s string) string {
		if s == "" {
			return "not recorded"
		}
		return wording.Cut(s, 200)
	}
	return strings.TrimSpace(scope+" "+name) + ": " + value(before) + ", now " + value(after)
}

// tables groups the cells by metric, primary metrics first.
func (v changesView) tables() []doc.ChangeTable {
	var out []doc.ChangeTable
	var keys []string
	for _, c := range v.Cells {
		key := c.Workload + "\x00" + c.Metric
		i := slices.Index(keys, key)
		if i < 0 {
			i, keys = len(keys), append(keys, key)
			m := piece.MetricOf(c.Metric, "", c.Better)
			heading := c.Workload + ": " + m.Title
			if d := piece.Direction(m); d != "" {
				heading += "; " + d
			}
			out = append(out, doc.ChangeTable{Heading: heading, Detail: m.Detail})
		}
		out[i].Rows = append(out[i].Rows, rowOf(c))
	}
	return out
}

func rowOf(c result.Change) doc.ChangeRow {
	r := doc.ChangeRow{Mode: c.Mode, Tone: piece.ToneOf(c.Verdict)}
	if c.Own {
		scale := wording.ScaleFor(c.Unit, piece.Values(c.Before, c.After)...)
		unit := strings.TrimRight(" "+scale.Unit, " ")
		r.Before, r.After = scale.Estimate(c.Before, c.BeforeCI)+unit, scale.Estimate(c.After, c.AfterCI)+unit
	} else {
		r.Before, r.After = wording.Ratio(c.Before, c.BeforeCI), wording.Ratio(c.After, c.AfterCI)
	}
	r.Verdict = Verdict(c)
	if c.Added != nil {
		r.Time = wording.AddedTime(*c.Added)
	}
	if c.Spread != nil {
		r.Verdict += "; " + ofRuns(c)
	}
	return r
}

// ofRuns says what a change in a history is of.
func ofRuns(c result.Change) string {
	last := "this run"
	if c.AfterN > 1 {
		last = "the last " + wording.Count(c.AfterN, "run", "runs")
	}
	return fmt.Sprintf("%s against %s, spread %s", last, wording.Count(c.BeforeN, "run", "runs"), wording.Percent(*c.Spread))
}

// Told returns the verdict with the change and, where there is one, its time.
func Told(c result.Change) string {
	if c.Added == nil {
		return Verdict(c)
	}
	return Verdict(c) + "; " + wording.AddedTime(*c.Added)
}

// Verdict returns the verdict with the change: "worse: -14 % (-17 % to -11 %)".
func Verdict(c result.Change) string {
	switch {
	case c.Ratio == nil && c.BeforeN == 0 && c.AfterN > 0:
		return "cannot tell: not in the earlier runs"
	case c.Ratio == nil && c.Verdict == result.Same:
		return "none in either"
	case c.Ratio == nil && c.Verdict == "":
		return "not compared"
	case c.Ratio == nil:
		return "cannot tell: a value is 0"
	case c.Verdict == result.Worse || c.Verdict == result.Better:
		text := string(c.Verdict) + ": " + wording.Change(*c.Ratio)
		if c.RatioCI != nil {
			text += " (" + wording.Change(c.RatioCI[0]) + " to " + wording.Change(c.RatioCI[1]) + ")"
		}
		if c.Setups == 1 {
			text += wording.OfOneSetup
		}
		return text
	case c.Verdict == result.CannotTell && c.RatioCI == nil:
		return "cannot tell: too few blocks"
	}
	return wording.Verdict(c.Cell())
}
