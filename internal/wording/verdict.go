package wording

import (
	"fmt"
	"strconv"
	"strings"

	"tare/internal/result"
	"tare/internal/stats"
)

// Verdict returns the verdict of a cell in full:
//
//	worse: 0.83 (0.81-0.86) of host
//	same within 5 %
//	different, but less than 5 %
//	cannot tell: between -9 % and +4 %; about 12 more blocks
//
// A cell without a baseline gives "not compared". One that was measured on a single set-up says so, and that it is indicative: its
// interval is not that of the mode made again.
//
// A percentile of the tail pass says at which rate.
func Verdict(c result.Cell) string {
	text := inFull(c)
	if c.Tail != nil {
		text += "; at " + Value(c.Tail.Rate, "1/s") + " on a schedule"
	}
	if c.Setups == 1 && c.N > 1 {
		text += OfOneSetup
	}
	return text
}

// OfOneSetup is added to a verdict whose values are all of one set-up.
const OfOneSetup = "; indicative: of one set-up"

func inFull(c result.Cell) string {
	switch c.Verdict {
	case result.Worse, result.Better:
		return string(c.Verdict) + than(c)
	case result.Same:
		if c.Ratio == nil && c.Value != nil && *c.Value == 0 {
			return "none in either"
		}
		return "same" + margin(" within ", c)
	case result.Small:
		if c.Margin <= 0 {
			return "different, but less than the margin"
		}
		return "different, but" + margin(" less than ", c)
	case result.CannotTell:
		return strings.Join(doubts(c), "")
	case "":
		if c.Baseline == "" {
			return "not compared"
		}
		if c.Unjudged != "" {
			return Clean(c.Unjudged)
		}
		return "not judged"
	}
	return "unknown verdict: " + Clean(string(c.Verdict))
}

// Blocks is the number of blocks of a cell, and of the set-ups that the interval of its ratio is of where some share one: "7 (4 set-ups)".
func Blocks(c result.Cell) string {
	if c.Setups > 0 && c.Setups < c.N {
		return fmt.Sprintf("%d (%s)", c.N, Count(c.Setups, "set-up", "set-ups"))
	}
	return strconv.Itoa(c.N)
}

// AtLeast marks the text of a value that is only a lower bound: "≥ 23.4".
func AtLeast(c result.Cell, value string) string {
	if !c.AtLeast || value == Unknown {
		return value
	}
	return "≥ " + value
}

// Word is the verdict's first words alone: "worse", "cannot tell".
func Word(v result.Verdict) string {
	switch v {
	case "":
		return ""
	case result.CannotTell:
		return "cannot tell"
	case result.Small:
		return "small"
	}
	return Clean(string(v))
}

func than(c result.Cell) string {
	base := Clean(c.Baseline)
	if c.Ratio == nil || !known(*c.Ratio) {
		return " than " + base
	}
	return ": " + Ratio(c.Ratio, c.RatioCI) + " " + Of(*c.Ratio) + " " + base
}

// Of joins a ratio to what it is a ratio of: 0.83 of, 1.30 times.
func Of(ratio float64) string {
	if ratio < 1 {
		return "of"
	}
	return "times"
}

func margin(word string, c result.Cell) string {
	if c.Margin <= 0 {
		return ""
	}
	return word + Percent(c.Margin)
}

// doubts describes cannot_tell: the interval of the difference, whether only the correction
// for several comparisons prevents a verdict, and what would settle it.
func doubts(c result.Cell) []string {
	out := []string{"cannot tell"}
	if c.AtLeast && strings.HasPrefix(c.Metric, "throughput_") {
		return append(out, ": no higher load could be offered")
	}
	if c.AtLeast {
		return append(out, ": the generator could not keep up")
	}
	if r := Range(c); r != "" {
		out = append(out, ": "+r)
		switch few := TooFew(c); {
		case few != "":
			out = append(out, "; indicative: "+few)
		case differs(c) && c.FlipP != nil && *c.FlipP >= 0.05:
			out = append(out, "; not by the sign-flip test")
		case differs(c) && (c.P == nil || *c.P >= 0.05):
			out = append(out, "; not after correction for several comparisons")
		}
	}
	if c.BlocksNeeded != nil && *c.BlocksNeeded > 0 {
		one, many := "more block", "more blocks"
		if c.Unpaired {
			one, many = "more value of each", "more values of each"
		}
		out = append(out, "; about "+Count(*c.BlocksNeeded, one, many))
	}
	return out
}

// differs reports whether the interval of a ratio excludes 1.
func differs(c result.Cell) bool {
	return c.RatioCI != nil && (c.RatioCI[0] > 1 || c.RatioCI[1] < 1)
}

// TooFew is the reason why a difference that the interval shows has no verdict, if it is the number of
// blocks or values; empty if it is not.
func TooFew(c result.Cell) string {
	switch {
	case c.Verdict != result.CannotTell || c.AtLeast || c.N == 0 || !differs(c):
		return ""
	case c.Unpaired && (c.N < stats.MinPairs || c.P != nil && *c.P < 0.05): // N is that of the mode, not of its baseline
		return "fewer than three values of each"
	case !c.Unpaired && c.N < stats.MinPairs:
		return "fewer than three blocks"
	}
	return ""
}

// Range formats a cell's ratio interval as a range of differences, "between -9 % and +4 %", or
// of multiples where it is wide, or where both limits have the same text. The limits of one that says nearly nothing, as
// of two blocks that differ, are not told. It is empty when unknown.
func Range(c result.Cell) string {
	if c.RatioCI == nil || !known(c.RatioCI[0]) || !known(c.RatioCI[1]) {
		return ""
	}
	lo, hi := c.RatioCI[0], c.RatioCI[1]
	if lo < 0.01 && hi > 100 {
		return "from less than a hundredth to more than a hundred times " + Clean(c.Baseline)
	}
	if hi > 3 || lo != hi && Change(lo) == Change(hi) {
		from, to := Apart(lo, hi)
		of := " times "
		if hi <= 1 {
			of = " of "
		}
		return "between " + from + " and " + to + of + Clean(c.Baseline)
	}
	return "between " + Change(lo) + " and " + Change(hi)
}
