// Package piece has the small pieces that all sections are made of: texts, numbers, marks and blocks. It knows nothing of runs
// but their types.
package piece

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/wording"
)

// Facts is facts in one line.
func Facts(fs []result.Fact) string {
	var parts []string
	for _, f := range fs {
		parts = append(parts, f.Name+" "+f.Value)
	}
	if len(parts) == 0 {
		return "nothing is known"
	}
	return strings.Join(parts, "; ")
}

// MostListed is how many changes a sentence lists.
const MostListed = 3

// OrDash is a text, or the sign of an unknown value.
func OrDash(s string) string {
	if s == "" {
		return wording.Unknown
	}
	return s
}

// Capital begins a sentence with a capital letter, unless it begins with a name.
func Capital(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	if strings.ContainsAny(first, "/-_") || first == "" {
		return s
	}
	return strings.TrimRight(strings.ToUpper(first[:1])+first[1:]+" "+rest, " ")
}

// More is a number of further blocks or values.
func More(n int, one, many string) string {
	if n >= stats.MaxBlocksNeeded {
		return fmt.Sprintf("%d or more %s", n, many)
	}
	return wording.Count(n, "more "+one, "more "+many)
}

// Seconds formats a duration in seconds; an impossible one is unknown.
func Seconds(s float64) string {
	if s < 0 || s > 1e9 || s != s {
		return wording.Unknown
	}
	return wording.Duration(time.Duration(s * float64(time.Second)))
}

// OrUnknown is a text, or "unknown".
func OrUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// titles shortens the titles of metrics for the head of a column.
var titles = strings.NewReplacer(", median", " p50", ", 90th percentile", " p90", ", 99th percentile", " p99", ", 99.9th percentile", " p99.9")

// Each1000 writes a cost per 1000 exchanges as the same number per exchange, which is shorter.
var Each1000 = strings.NewReplacer("us/1000 transactions", "ns/transaction", "ms/1000 transactions", "us/transaction",
	"s/1000 transactions", "ms/transaction", "us/1000 connections", "ns/connection", "ms/1000 connections", "us/connection",
	"s/1000 connections", "ms/connection")

// MetricOf is a metric of the registry, or one that a file alone knows.
func MetricOf(name, unit string, better result.Direction) result.Metric {
	if m, ok := result.MetricNamed(name); ok {
		return m
	}
	return result.Metric{Name: name, Title: name, Unit: unit, Better: better}
}

// ShortTitle is a metric's title for the head of a column: "round trip p99".
func ShortTitle(m result.Metric) string { return titles.Replace(Noun(m)) }

// Right aligns text to the right of so many columns.
func Right(s string, width int) string {
	return strings.Repeat(" ", max(0, width-wording.Width(s))) + s
}

// Change formats the smallest change that could have been seen; very large values are shown as
// a bound.
func Change(d float64) string {
	if d > 10 {
		return "> 1000 %"
	}
	if d < 0.0005 {
		return "< 0.1 %"
	}
	return wording.Percent(d)
}

// Direction describes which direction is better; empty when unknown.
func Direction(m result.Metric) string {
	if m.Better == "" {
		return ""
	}
	return string(m.Better) + " is better"
}

// Noun is a metric's title within a sentence. An abbreviation at its start stays: B/op.
func Noun(m result.Metric) string {
	title := []rune(m.Title)
	if len(title) > 1 && unicode.IsLower(title[1]) {
		title[0] = unicode.ToLower(title[0])
	}
	return string(title)
}

// Loss shows a ratio of loss in percent.
func Loss(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return wording.Unknown
	}
	return wording.Value(v, "ratio")
}

// Lower begins a text with a small letter.
func Lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// OrText is a text, or another where it is empty.
func OrText(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// LongReason is how many columns of a reason a table or a sentence holds; the list of modes
// has all of it.
const LongReason = 300
