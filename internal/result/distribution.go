package result

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// Distribution says how long the exchanges or datagrams of one trial took: Counts[i] of
// them no more than Upper[i], and more than Upper[i-1]. Bounds rise, and are those of one
// grid for all trials, so that distributions add up; empty buckets are left out. That the
// bounds are apart by Resolution is all that is lost of the single durations: a bucket's
// durations are no more than that below its bound.
type Distribution struct {
	Of         string    `json:"of"`         // rtt, connect, first_byte, delay, delay_variation: what its percentiles begin with
	Resolution float64   `json:"resolution"` // of the bounds, relative: 0.0219 is 2.19 %
	Upper      []float64 `json:"upper"`      // s
	Counts     []int64   `json:"counts"`
}

// The bounds of buckets are powers of two with so many between: each grid has the bounds
// of those with fewer.
const (
	mostBounds  = 32  // in a factor of two: 2.19 % apart
	mostBuckets = 160 // of a distribution; one with more gets a coarser grid
)

// Distribute puts durations, in seconds with how many there are of each, into buckets:
// 2.19 % wide, or 4.43 %, 9.05 % and so on where there would be more than 160. What is
// not above 0 and finite, or of which there is none, is left out. Nil of nothing.
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

// bound is the least of the grid that is not below d, in s, as it is written.
func bound(d float64, bounds int) float64 {
	at := math.Ceil(math.Log2(d) * float64(bounds))
	for at--; ; at++ { // one step back, for the logarithm is not exact
		if b := digits(math.Exp2(at/float64(bounds)), 4); b >= d {
			return b
		}
	}
}

// digits rounds to so many significant digits.
func digits(v float64, n int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil { // it was written by us
		return v
	}
	return short
}

// Count is how many durations there are; 0 of one that is broken, which only an edited
// file holds.
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
// any it is 0: look at Count first.
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

// ECDF is how long the exchanges or datagrams of a mode took in all trials that count,
// put together: each weighs the same, so a trial with more of them weighs more. With it
// the empirical distribution function can be drawn.
type ECDF struct {
	Mode     string `json:"mode"`
	Workload string `json:"workload"`
	Trials   int    `json:"trials"`            // whose durations they are
	Missing  int    `json:"missing,omitempty"` // trials that count and have none
	Distribution
}
