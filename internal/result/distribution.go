package result

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// Distribution is a histogram of the durations of the exchanges or datagrams of one
// trial: Counts[i] of them were at most Upper[i] and more than Upper[i-1]. Bounds rise
// and come from one grid for all trials, so that distributions can be added; empty
// buckets are left out. The only loss of precision is Resolution, the relative distance
// of the bounds: the durations in a bucket are at most that much below its bound.
type Distribution struct {
	Of         string    `json:"of"`         // rtt, connect, first_byte, delay, delay_variation: prefix of its percentiles
	Resolution float64   `json:"resolution"` // of the bounds, relative: 0.0219 is 2.19 %
	Upper      []float64 `json:"upper"`      // s
	Counts     []int64   `json:"counts"`
}

// The bounds of buckets are powers of two with a number of bounds between them: each grid
// contains the bounds of the coarser ones.
const (
	mostBounds  = 32  // in a factor of two: 2.19 % apart
	mostBuckets = 160 // of a distribution; more require a coarser grid
)

// Distribute puts durations, in seconds with the number of each, into buckets that are
// 2.19 % wide, or 4.43 %, 9.05 % and so on if there were more than 160. It leaves out
// durations that are not above 0 and finite, or whose number is 0. The result is nil if
// nothing is left.
func Distribute(of string, durations map[float64]int64) *Distribution {
	for bounds := mostBounds; ; bounds /= 2 {
		buckets := map[float64]int64{}
		for d, count := range durations {
			if d > 0 && !math.IsInf(d, 1) && count > 0 {
				buckets[bound(d, bounds)] += count
			}
		}
		switch {
		case len(buckets) == 0:
			return nil
		case len(buckets) > mostBuckets && bounds > 1:
			continue
		}
		out := &Distribution{Of: of, Resolution: digits(math.Exp2(1/float64(bounds))-1, 3), Upper: slices.Sorted(maps.Keys(buckets))}
		for _, u := range out.Upper {
			out.Counts = append(out.Counts, buckets[u])
		}
		return out
	}
}

// bound is the lowest bound of the grid that is not below d, in s, rounded as in the
// file.
func bound(d float64, bounds int) float64 {
	at := math.Ceil(math.Log2(d) * float64(bounds))
	for at--; ; at++ { // one step back, because the logarithm is not exact
		if b := digits(math.Exp2(at/float64(bounds)), 4); b >= d {
			return b
		}
	}
}

// digits rounds to n significant digits.
func digits(v float64, n int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil { // the string was formatted above
		return v
	}
	return short
}

// Count is the number of durations; 0 for an inconsistent distribution, which only an
// edited file contains.
func (d Distribution) Count() float64 {
	if len(d.Upper) != len(d.Counts) {
		return 0
	}
	n, last := 0.0, 0.0
	for i, u := range d.Upper {
		if !(u > last) || math.IsInf(u, 1) || d.Counts[i] < 0 {
			return 0
		}
		n, last = n+float64(d.Counts[i]), u
	}
	return n
}

// Quantile is the bound that a share q of 0..1 of all durations does not exceed. Without
// durations it is 0; check Count first.
func (d Distribution) Quantile(q float64) float64 {
	all, n := d.Count(), 0.0
	if all == 0 {
		return 0
	}
	for i, u := range d.Upper {
		if n += float64(d.Counts[i]); n > 0 && n >= q*all {
			return u
		}
	}
	return d.Upper[len(d.Upper)-1] // 0.3 * 10 may be more than 3
}

// ECDF is the distribution of the durations of a mode's exchanges or datagrams in all
// trials that count. All durations count equally, so a trial with more of them has more
// influence. It contains the data for an empirical distribution function.
type ECDF struct {
	Mode     string `json:"mode"`
	Workload string `json:"workload"`
	Trials   int    `json:"trials"`            // number of trials included
	Missing  int    `json:"missing,omitempty"` // trials that count but have no durations
	Distribution
}
