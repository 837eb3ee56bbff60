package wording

import (
	"math"
	"strconv"

	"tare/internal/result"
)

// mostPercent is the ratio beyond which [Delta] writes a factor, and below whose inverse too.
const mostPercent = 3

// Delta returns a ratio as a change with its interval, as benchstat users know it:
// "-22 %" and "(-24 .. -21)", or the factor "4.1x" and "(3.9 .. 4.3)" where the ratio is
// over 3 or under 1/3. Rounding never moves a limit to zero change. The interval is empty
// where it is unknown, and the change is [Unknown] without a ratio.
func Delta(ratio *float64, ci *result.Interval) (change, interval string) {
	if ratio == nil || !known(*ratio) {
		return Unknown, ""
	}
	write, suffix := percent, " %"
	lowest, highest := 0, 3
	if *ratio > mostPercent || *ratio < 1.0/mostPercent {
		write, suffix = fixed, "x"
		lowest = decimals(*ratio, 2)
		highest = lowest + 2
	}
	if ci == nil || !known(ci[0]) || !known(ci[1]) {
		return write(*ratio, max(lowest, fine(*ratio, *ratio))) + suffix, ""
	}
	d := max(lowest, fine(ci[0], ci[1]))
	for d < highest && (ci[0] != ci[1] && write(ci[0], d) == write(ci[1], d) || vanishes(ci[0], d, write) || vanishes(ci[1], d, write)) {
		d++
	}
	return write(*ratio, d) + suffix, "(" + write(ci[0], d) + " .. " + write(ci[1], d) + ")"
}

// fine is one decimal of a percent for an interval that is narrower than two percent, or
// for a single small change.
func fine(lo, hi float64) int {
	if hi-lo < 0.02 && math.Abs(hi-1) < 0.1 && math.Abs(lo-1) < 0.1 {
		return 1
	}
	return 0
}

// vanishes reports whether d decimals show a change that is not zero as zero.
func vanishes(ratio float64, d int, write func(float64, int) string) bool {
	return ratio != 1 && write(ratio, d) == write(1, d)
}

// percent is a ratio as a signed change in percent, without the sign of percent.
func percent(ratio float64, d int) string {
	text := fixed((ratio-1)*100, d)
	if text == Unknown || text[0] == '-' || text == strconv.FormatFloat(0, 'f', d, 64) {
		return text
	}
	return "+" + text
}
