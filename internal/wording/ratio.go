package wording

import (
	"fmt"
	"math"
	"strconv"

	"tare/internal/result"
)

// Ratio shows a ratio and its interval: "0.83 (0.81-0.86)". Either may be nil.
func Ratio(r *float64, ci *result.Interval) string {
	if r == nil || !known(*r) {
		return Unknown
	}
	d := ratioDecimals(*r)
	if ci == nil || !known(ci[0]) || !known(ci[1]) {
		return fixed(*r, d)
	}
	for d < 4 && (narrow(*ci, d) || reachesOne(ci[0], d) || reachesOne(ci[1], d)) {
		d++
	}
	return fixed(*r, d) + " (" + between(fixed(ci[0], d), fixed(ci[1], d)) + ")"
}

// BareRatio shows a ratio without its interval.
func BareRatio(r float64) string { return Ratio(&r, nil) }

func ratioDecimals(r float64) int {
	switch a := math.Abs(r); {
	case a >= 100:
		return 0
	case a >= 10:
		return 1
	case a >= 0.0995 || a == 0:
		return 2
	}
	return decimals(r, 2)
}

// narrow reports whether the limits are equal with d decimals.
func narrow(ci result.Interval, d int) bool {
	return ci[0] != ci[1] && fixed(ci[0], d) == fixed(ci[1], d)
}

// Apart formats two ratios with enough decimals to differ, four at most.
func Apart(lo, hi float64) (from, to string) {
	from, to = BareRatio(lo), BareRatio(hi)
	for d := ratioDecimals(lo); d < 4 && from == to; {
		d++
		from, to = fixed(lo, d), fixed(hi, d)
	}
	return from, to
}

// reachesOne reports whether rounding to d decimals moves v to 1.
func reachesOne(v float64, d int) bool {
	return v != 1 && fixed(v, d) == fixed(1, d)
}

// Percent shows a fraction without a sign: 0.05 is "5 %", 0.025 is "2.5 %".
func Percent(x float64) string {
	if !known(x) {
		return Unknown
	}
	v := x * 100
	d := 0
	if a := math.Abs(v); a < 10 && math.Abs(v-math.Round(v)) > 0.049 {
		d = 1
	}
	return fixed(v, d) + " %"
}

// SmallPercent shows a fraction with two digits, however small it is: 0.000025 is "0.0025 %".
func SmallPercent(x float64) string {
	if !known(x) {
		return Unknown
	}
	return fixed(100*x, decimals(100*x, 2)) + " %"
}

// Settled says when a ratio is settled: by the half-width of its interval relative to the ratio, and,
// unless it is 0, relative to the distance of the ratio from 1.
func Settled(width, effectWidth float64) string {
	if effectWidth <= 0 {
		return fmt.Sprintf("known to within %s, or shown to be the same", Percent(width))
	}
	return fmt.Sprintf("known to within %s, or within %s of its distance from 1, or shown to be the same", Percent(width), Percent(effectWidth))
}

// Change shows a ratio as a signed difference: 0.91 is "-9 %", 1.04 is "+4 %".
func Change(ratio float64) string {
	if !known(ratio) {
		return Unknown
	}
	v := (ratio - 1) * 100
	d := 0
	if math.Abs(v) < 1.95 {
		d = 1
	}
	t := fixed(v, d)
	switch {
	case t == fixed(0, d):
		return "0 %"
	case v > 0:
		return "+" + t + " %"
	}
	return t + " %"
}

// P shows a probability: "0.012", "<0.001". Nil is Unknown.
func P(p *float64) string {
	switch {
	case p == nil || !(*p >= 0 && *p <= 1):
		return Unknown
	case *p < 0.001:
		return "<0.001"
	case *p < 0.0995:
		return strconv.FormatFloat(*p, 'f', 3, 64)
	}
	return strconv.FormatFloat(*p, 'f', 2, 64)
}

// Plain shows a number that somebody wrote, such as an expected ratio, as they wrote
// it: "2", "0.5".
func Plain(x float64) string {
	if !known(x) {
		return Unknown
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}
