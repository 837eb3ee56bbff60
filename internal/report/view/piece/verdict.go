package piece

import (
	"tare/internal/report/chart"
	"tare/internal/result"
	"tare/internal/wording"
)

// AndRange is the range of an undecided difference behind a colon; empty where it is unknown.
func AndRange(c result.Cell) string {
	if r := wording.Range(c); r != "" {
		return ": " + r
	}
	return ""
}

// MarkOf is the mark of a verdict on a terminal and in Markdown.
func MarkOf(tone chart.Tone) string { return chart.Signs()[tone] }

// BesideRatio reports whether a verdict adds only a word to the ratio.
func BesideRatio(c result.Cell) bool {
	return c.Ratio != nil && (c.Verdict == result.Worse || c.Verdict == result.Better)
}

// ToneOf is the shape and colour of a verdict.
func ToneOf(v result.Verdict) chart.Tone {
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
