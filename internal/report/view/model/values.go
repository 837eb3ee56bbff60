package model

import (
	"math"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// WorthAColumn reports whether a table has any value other than 0, or trials without a value.
func (t Table) WorthAColumn() bool {
	for _, r := range t.Rows() {
		if r.Cell != nil && r.Cell.Value != nil && (*r.Cell.Value != 0 || r.Cell.Ratio != nil) {
			return true
		}
		if r.Cell == nil && !Unmeasured(r.Mode) && len(r.Trials) > 0 {
			return true
		}
	}
	return false
}

// Smallest is the title of a column of detectable changes.
const Smallest = "Smallest change that this comparison could show"

// VerdictCell is the verdict of a row, for where its ratio is beside it.
func (r Row) VerdictCell(s wording.Scale) doc.Cell {
	return doc.Cell{Text: r.brieflyJudged(), Tone: r.Tone(), Notes: r.Notes(s)}
}

// Judged reports whether a table has any value.
func (t Table) Judged() bool {
	return slices.ContainsFunc(t.Rows(), func(r Row) bool { return r.Cell != nil && r.Cell.Value != nil })
}

// Spared reports whether a terminal leaves the table out.
func (t Table) Spared() bool {
	if !t.Metric.Detail {
		return false
	}
	mishaps := t.Metric.Better == "lower" && t.Metric.Unit != "s"
	return !mishaps || !slices.ContainsFunc(t.Rows(), func(r Row) bool { return r.Cell != nil && r.Cell.Value != nil && *r.Cell.Value > 0 })
}

// Bare is a row's value alone.
func (r Row) Bare(t Table) string {
	if r.Cell == nil || r.Cell.Value == nil {
		return wording.Unknown
	}
	return wording.AtLeast(*r.Cell, t.Scale.Number(*r.Cell.Value))
}

// Value is the value of a row with its interval; wording.Unknown, as in the methods below, where there is none.
func (r Row) Value(s wording.Scale) string {
	if r.Cell == nil {
		return wording.Unknown
	}
	return wording.AtLeast(*r.Cell, s.Estimate(r.Cell.Value, r.Cell.CI))
}

// Ratio is the ratio of a row to its baseline with its interval.
func (r Row) Ratio() string {
	if r.Cell == nil {
		return wording.Unknown
	}
	return wording.Ratio(r.Cell.Ratio, r.Cell.RatioCI)
}

// Added is the time that a mode adds, with its interval.
func (r Row) Added() string {
	if r.Cell == nil || r.Cell.Added == nil {
		return wording.Unknown
	}
	return wording.AddedTime(*r.Cell.Added)
}

// P is the probability of a row, adjusted over the modes.
func (r Row) P() string {
	if r.Cell == nil {
		return wording.Unknown
	}
	return wording.P(r.Cell.P)
}

// FlipP is the probability of a row by the sign-flip test.
func (r Row) FlipP() string {
	if r.Cell == nil {
		return wording.Unknown
	}
	return wording.P(r.Cell.FlipP)
}

// N is the number of blocks, with that of the set-ups where blocks share them, or of trials where nothing is compared.
func (r Row) N() string {
	if r.Cell == nil || r.Cell.N == 0 {
		return wording.Unknown
	}
	return wording.Blocks(*r.Cell)
}

// Detectable is the smallest change that could have been seen.
func (r Row) Detectable() string {
	if r.Cell == nil || r.Cell.Detectable == nil {
		return wording.Unknown
	}
	return piece.Change(*r.Cell.Detectable)
}

// Seen describes the smallest changes that a table could have shown; empty when unknown.
func (t Table) Seen() string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, r := range t.Rows() {
		if r.Cell != nil && piece.Finite(r.Cell.Detectable) {
			lo, hi = min(lo, *r.Cell.Detectable), max(hi, *r.Cell.Detectable)
		}
	}
	if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return ""
	}
	text := "Smallest change this could show: " + piece.Change(lo)
	if a, b := piece.Change(lo), piece.Change(hi); a != b {
		text += " to " + b + ", depending on the mode"
	}
	return text + "."
}

// Heading is a metric with its unit: "Goodput, Gbit/s".
func (t Table) Heading() string { return t.withUnit(t.Metric.Title) }

// Inline is heading as part of a line: "goodput, Gbit/s".
func (t Table) Inline() string { return t.withUnit(piece.Noun(t.Metric)) }

func (t Table) withUnit(title string) string {
	if t.Unit() == "" {
		return title
	}
	return title + ", " + t.Unit()
}

// Unit is the unit behind the title; empty where the title begins with it: CPUs busy.
func (t Table) Unit() string {
	if strings.HasPrefix(t.Metric.Title, t.Scale.Unit) {
		return ""
	}
	return t.Scale.Unit
}

// brieflyJudged is the verdict for use beside the ratio.
func (r Row) brieflyJudged() string {
	switch {
	case Unmeasured(r.Mode) || r.Cell == nil:
	case r.Mode.Control && r.Cell.Baseline != "":
		return r.control(true)
	case piece.BesideRatio(*r.Cell):
		return wording.Word(r.Cell.Verdict)
	}
	return wording.Cut(r.Verdict(), piece.LongReason)
}

// Judged is the verdict with the ratio, for where the baseline is clear.
func (r Row) Judged() string {
	if r.Cell != nil && !Unmeasured(r.Mode) && !r.Mode.Control && piece.BesideRatio(*r.Cell) {
		return wording.Word(r.Cell.Verdict) + ": " + wording.Ratio(r.Cell.Ratio, r.Cell.RatioCI)
	}
	return r.Verdict()
}

func valueOf(t Table, c result.Cell) string {
	text := wording.AtLeast(c, t.Scale.Estimate(c.Value, c.CI))
	if text != wording.Unknown && t.Scale.Unit != "" {
		text += " " + t.Scale.Unit
	}
	return text
}
