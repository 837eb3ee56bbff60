package report

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"tare/internal/report/say"
	"tare/internal/result"
)

// The figures of a row as text; say.Unknown where there is none.

func (r row) value(s say.Scale) string {
	if r.Cell == nil {
		return say.Unknown
	}
	return say.AtLeast(*r.Cell, s.Estimate(r.Cell.Value, r.Cell.CI))
}

func (r row) ratio() string {
	if r.Cell == nil {
		return say.Unknown
	}
	return say.Ratio(r.Cell.Ratio, r.Cell.RatioCI)
}

func (r row) p() string {
	if r.Cell == nil {
		return say.Unknown
	}
	return say.P(r.Cell.P)
}

func (r row) n() string {
	if r.Cell == nil || r.Cell.N == 0 {
		return say.Unknown
	}
	return fmt.Sprint(r.Cell.N)
}

func (r row) detectable() string {
	if r.Cell == nil || r.Cell.Detectable == nil {
		return say.Unknown
	}
	return change(*r.Cell.Detectable)
}

// change words the smallest change that could have been seen; what is beyond
// anything that a mode does is not spelled out.
func change(d float64) string {
	if d > 10 {
		return "> 1000 %"
	}
	if d < 0.0005 {
		return "< 0.1 %"
	}
	return say.Percent(d)
}

// seen words the smallest changes that a table could have seen; empty when that
// is not known.
func (t table) seen() string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, r := range t.rows() {
		if r.Cell != nil && finite(r.Cell.Detectable) {
			lo, hi = min(lo, *r.Cell.Detectable), max(hi, *r.Cell.Detectable)
		}
	}
	if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return ""
	}
	text := "Smallest change this could have seen: " + change(lo)
	if a, b := change(lo), change(hi); a != b {
		text += " to " + b + ", depending on the mode"
	}
	return text + "."
}

// direction says which way is better; empty when that is not known.
func direction(m result.Metric) string {
	if m.Better == "" {
		return ""
	}
	return string(m.Better) + " is better"
}

// heading is a metric with its unit: "Goodput, Gbit/s".
func (t table) heading() string { return t.withUnit(t.Metric.Title) }

// inline is heading as part of a line: "goodput, Gbit/s".
func (t table) inline() string { return t.withUnit(noun(t.Metric)) }

// noun is a metric's title within a sentence. One that begins with an abbreviation
// keeps it: B/op.
func noun(m result.Metric) string {
	title := []rune(m.Title)
	if len(title) > 1 && unicode.IsLower(title[1]) {
		title[0] = unicode.ToLower(title[0])
	}
	return string(title)
}

func (t table) withUnit(title string) string {
	if t.unit() == "" {
		return title
	}
	return title + ", " + t.unit()
}

// unit is the unit to stand behind the title; empty where the title begins with it:
// CPUs busy.
func (t table) unit() string {
	if strings.HasPrefix(t.Metric.Title, t.Scale.Unit) {
		return ""
	}
	return t.Scale.Unit
}
