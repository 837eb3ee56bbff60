package wording

import (
	"math"
	"strconv"
	"strings"

	"tare/internal/result"
)

// Scale is a unit for display: base units times its factor. A column has one scale, so that
// its values can be compared.
type Scale struct {
	Unit   string // as shown, such as "Gbit/s"; empty for a bare count
	factor float64
	count  bool // whole numbers are shown without decimals
}

// ScaleFor chooses the scale of a base unit (bit/s, s, 1/s, segments, ratio) by
// the largest of the values. A unit it does not know stays as it is.
func ScaleFor(unit string, values ...float64) Scale {
	top := 0.0
	for _, v := range values {
		if known(v) {
			top = max(top, math.Abs(v))
		}
	}
	steps := stepsOf(unit)
	best := steps[0]
	for _, s := range steps[1:] {
		// 999.6 would be shown as 1000: leave it to the next unit.
		if top*s.factor >= 0.9995 {
			best = s
		}
	}
	return best
}

// stepsOf lists the scales of a base unit from small to large.
func stepsOf(unit string) []Scale {
	switch unit {
	case "bit/s":
		return []Scale{{"bit/s", 1, false}, {"kbit/s", 1e-3, false}, {"Mbit/s", 1e-6, false}, {"Gbit/s", 1e-9, false}, {"Tbit/s", 1e-12, false}}
	case "s":
		return []Scale{{"ns", 1e9, false}, {"us", 1e6, false}, {"ms", 1e3, false}, {"s", 1, false}}
	case "1/s":
		return []Scale{{"/s", 1, false}, {"k/s", 1e-3, false}, {"M/s", 1e-6, false}}
	case "B/s":
		return []Scale{{"B/s", 1, false}, {"kB/s", 1e-3, false}, {"MB/s", 1e-6, false}, {"GB/s", 1e-9, false}}
	case "s/Gbit", "s/1000 transactions", "s/1000 connections":
		per := unit[1:]
		return []Scale{{"us" + per, 1e6, false}, {"ms" + per, 1e3, false}, {unit, 1, false}}
	case "B":
		return []Scale{{"B", 1, true}, {"kB", 1e-3, false}, {"MB", 1e-6, false}, {"GB", 1e-9, false}, {"TB", 1e-12, false}}
	case "segments", "packets", "bytes":
		return []Scale{{unit, 1, true}}
	case "ratio":
		return []Scale{{"%", 100, false}}
	}
	if each, ok := strings.CutPrefix(unit, "s/"); ok { // a time for each of something
		per := "/" + Cut(Clean(each), 22)
		return []Scale{{"ns" + per, 1e9, false}, {"us" + per, 1e6, false}, {"ms" + per, 1e3, false}, {"s" + per, 1, false}}
	}
	return []Scale{{Cut(Clean(unit), 24), 1, false}}
}

// In is v, in base units, in the unit of the scale.
func (s Scale) In(v float64) float64 { return v * s.factor }

// Number shows v without its unit, with three significant digits.
func (s Scale) Number(v float64) string {
	if !known(v) {
		return Unknown
	}
	v *= s.factor
	return fixed(v, s.decimals(v))
}

// Value shows v with its unit: "23.4 Gbit/s".
func (s Scale) Value(v float64) string {
	if !known(v) || s.Unit == "" {
		return s.Number(v)
	}
	return s.Number(v) + " " + s.Unit
}

// Estimate shows a value and its interval without the unit: "23.4 (22.9-23.9)".
// Either may be nil; an interval without width is not shown.
func (s Scale) Estimate(v *float64, ci *result.Interval) string {
	if v == nil || !known(*v) {
		return Unknown
	}
	if ci == nil || !known(ci[0]) || !known(ci[1]) || ci[0] == *v && ci[1] == *v {
		return s.Number(*v)
	}
	mid, lo, hi := *v*s.factor, ci[0]*s.factor, ci[1]*s.factor
	d := s.decimals(mid)
	for lim := d + 2; d < lim && lo != hi && fixed(lo, d) == fixed(hi, d); {
		d++
	}
	return fixed(mid, d) + " (" + between(fixed(lo, d), fixed(hi, d)) + ")"
}

// Value shows v, in base units, in the unit that suits it: "23.4 Gbit/s".
func Value(v float64, unit string) string {
	return ScaleFor(unit, v).Value(v)
}

func (s Scale) decimals(v float64) int {
	if v == 0 || s.count && v == math.Trunc(v) {
		return 0
	}
	return decimals(v, 3)
}

// decimals is how many places v needs for so many significant digits.
func decimals(v float64, significant int) int {
	if v == 0 {
		return 0
	}
	// Rounded first: 9.996 has three significant digits as 10.0.
	e := strconv.FormatFloat(math.Abs(v), 'e', significant-1, 64)
	exp, err := strconv.Atoi(e[len(e)-3:])
	if err != nil {
		return 0
	}
	return min(max(0, significant-1-exp), 9)
}

// absurd is larger than any measured value. It comes from broken files, and its digits would
// fill a page.
const absurd = 1e15

// Fixed shows a plain number with so many decimals, and one that is absurdly large by its
// power of ten.
func Fixed(v float64, decimals int) string { return fixed(v, decimals) }

// fixed is v with so many decimals, without a sign on zero.
func fixed(v float64, decimals int) string {
	if !known(v) {
		return Unknown // the largest values overflow in another unit
	}
	if math.Abs(v) >= absurd {
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	t := strconv.FormatFloat(v, 'f', decimals, 64)
	if zero := strconv.FormatFloat(0, 'f', decimals, 64); t == "-"+zero {
		return zero
	}
	return t
}

// between joins the limits of an interval; a hyphen next to a minus sign would
// be hard to read.
func between(lo, hi string) string {
	if lo[0] == '-' || hi[0] == '-' {
		return lo + " to " + hi
	}
	return lo + "-" + hi
}

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
