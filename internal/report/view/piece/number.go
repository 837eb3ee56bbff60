package piece

import (
	"math"
	"strings"

	"tare/internal/result"
	"tare/internal/wording"
)

// Reach is a range of shares: "2 to 5 %", or one where both limits have the same text.
func Reach(lo, hi float64) string {
	a, z := Portion(lo), Portion(hi)
	switch {
	case a == z:
		return a
	case lo == 0 && strings.HasPrefix(z, "<"):
		return z
	}
	if !strings.HasPrefix(a, "<") && !strings.HasPrefix(z, "> ") {
		a = strings.TrimSuffix(a, " %")
	}
	return a + " to " + z
}

// Kept limits a share to a valid one.
func Kept(share float64) float64 {
	if math.IsNaN(share) {
		return 0
	}
	return min(max(share, 0), 1)
}

// Downsampled returns at most so many, evenly spaced, with the first and the last.
func Downsampled[T any](all []T, most int) []T {
	if len(all) <= most || most < 2 {
		return all
	}
	out := make([]T, 0, most)
	for i := range most {
		out = append(out, all[i*(len(all)-1)/(most-1)])
	}
	return out
}

// Values are those that are known.
func Values(ps ...*float64) []float64 {
	var out []float64
	for _, p := range ps {
		if p != nil {
			out = append(out, *p)
		}
	}
	return out
}

// Each is a new slice of f of every element.
func Each[T any](in []T, f func(T) T) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

// Portion formats a share in percent; values near 0 and 1 are not rounded to them.
func Portion(x float64) string {
	switch {
	case x > 0 && x < 0.005:
		return "< 1 %"
	case x > 0.995 && x < 1:
		return "> 99 %"
	}
	return wording.Percent(x)
}

// Finite reports whether a value is known and a number that can be drawn.
func Finite(v *float64) bool {
	return v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0)
}

// Limits are those of an interval; nil where one is no number.
func Limits(ci *result.Interval) *[2]float64 {
	if ci == nil || !Finite(&ci[0]) || !Finite(&ci[1]) {
		return nil
	}
	return (*[2]float64)(ci)
}

// Median of sorted values.
func Median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
