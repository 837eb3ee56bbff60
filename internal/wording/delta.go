package wording

import (
	"math"
	"strconv"
	"strings"

	"tare/internal/result"
)

// mostPercent is the ratio beyond which a factor is written, and below whose inverse too.
const mostPercent = 3

// muchMore is the ratio beyond which the upper limit of a change in percent is not told: an interval from less to so much more says
// that nearly nothing is known, which more digits would hide.
const muchMore = 10

// Form is how changes are written. All those of one column have the same.
type Form int

// The forms.
const (
	InPercent Form = iota // "-22 %" and "(-24 .. -21)"
	AsFactor              // "4.1x" and "(3.9 .. 4.3)"
)

// FormOf is the form that suits ratios: a factor where one of them is over 3 or under 1/3.
func FormOf(ratios ...*float64) Form {
	for _, r := range ratios {
		if r != nil && known(*r) && (*r > mostPercent || *r < 1.0/mostPercent) {
			return AsFactor
		}
	}
	return InPercent
}

// Delta is a ratio as a change with its interval in the form that suits it alone.
func Delta(ratio *float64, ci *result.Interval) (change, interval string) {
	return FormOf(ratio).Delta(ratio, ci)
}

// Delta returns a ratio as a change with its interval. A limit that rounding would move to zero change has more decimals, and one
// of more than tenfold is "over +900". The interval is empty where it is unknown, and the change is [Unknown] without a ratio.
func (f Form) Delta(ratio *float64, ci *result.Interval) (change, interval string) {
	if ratio == nil || !known(*ratio) {
		return Unknown, ""
	}
	write, suffix := percent, " %"
	lowest, highest := 0, 3
	if f == AsFactor {
		write, suffix = fixed, "x"
		lowest = decimals(*ratio, 2)
		if FormOf(ratio) == InPercent {
			lowest = 2
		}
		highest = lowest + 2
	}
	if ci == nil || !known(ci[0]) || !known(ci[1]) {
		return write(*ratio, max(lowest, fine(*ratio, *ratio))) + suffix, ""
	}
	d := max(lowest, fine(ci[0], ci[1]))
	for d < highest && ci[0] != ci[1] && write(ci[0], d) == write(ci[1], d) {
		d++
	}
	limit := func(ratio float64) string {
		of := d
		for of < highest && vanishes(ratio, of, write) {
			of++
		}
		return write(ratio, of)
	}
	upper := limit(ci[1])
	if f == InPercent && ci[1] > muchMore {
		upper = "over " + percent(muchMore, 0)
	}
	return write(*ratio, d) + suffix, "(" + limit(ci[0]) + " .. " + upper + ")"
}

// Each is an added time in seconds for one of what it is for, such as a transaction; of is empty where it is the time itself.
func Each(a result.Added) (seconds result.Amount, of string) {
	seconds, of = a.Amount, strings.TrimPrefix(strings.TrimPrefix(a.Unit, "s"), "/")
	if things, thousand := strings.CutPrefix(of, "1000 "); thousand {
		of = strings.TrimSuffix(things, "s")
		seconds.Value /= 1000
		if ci := seconds.CI; ci != nil {
			seconds.CI = &result.Interval{ci[0] / 1000, ci[1] / 1000}
		}
	}
	return seconds, of
}

// Added writes an amount that is added with its sign and unit, "+2.4 us", and its interval, "(+2.3 .. +2.5)", which is empty
// where it is unknown. s is the scale of a column.
func (s Scale) Added(a result.Amount) (change, interval string) {
	if !known(a.Value) {
		return Unknown, ""
	}
	mid := a.Value * s.factor
	d := min(decimals(mid, 2), 3)
	change = signed(mid, d) + " " + s.Unit
	if a.CI == nil || !known(a.CI[0]) || !known(a.CI[1]) {
		return change, ""
	}
	return change, "(" + signed(a.CI[0]*s.factor, d) + " .. " + signed(a.CI[1]*s.factor, d) + ")"
}

// AddedTime is an added time alone, for one of what it is for, with its interval: "+2.4 us (+2.3 .. +2.5)".
func AddedTime(a result.Added) string {
	each, _ := Each(a)
	change, interval := ScaleFor("s", each.Value).Added(each)
	return strings.TrimSpace(change + " " + interval)
}

// signed is a number with its sign, but for zero.
func signed(v float64, d int) string {
	text := fixed(v, d)
	if text == Unknown || text[0] == '-' || text == strconv.FormatFloat(0, 'f', d, 64) {
		return text
	}
	return "+" + text
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
func percent(ratio float64, d int) string { return signed((ratio-1)*100, d) }
