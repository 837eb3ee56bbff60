package chart

import "math"

// The places of a ratio of loss on an axis that is logarithmic above lossFloor and has
// room for 0 below it.
const (
	lossFloor = 1e-5
	lossGap   = 0.8 // from 0 to the floor, in decades
)

// LossAt is the position of a ratio of loss, 0..1, on an axis with [LossTicks]: a decade
// apart for every factor of ten, and 0 below all. Less than 0.001 % is drawn at that.
func LossAt(ratio float64) float64 {
	if !(ratio > 0) {
		return 0
	}
	return lossGap + math.Log10(min(max(ratio, lossFloor), 1)/lossFloor)
}

// LossTicks name the places of [LossAt] in percent.
func LossTicks() []Tick {
	out := []Tick{{0, "0 %"}}
	for _, t := range []struct {
		ratio float64
		label string
	}{{1e-5, "0.001"}, {1e-4, "0.01"}, {1e-3, "0.1"}, {1e-2, "1 %"}, {1e-1, "10"}, {1, "100 %"}} {
		out = append(out, Tick{LossAt(t.ratio), t.label})
	}
	return out
}

// QuantileAt is the position of the quantile q, 0..1, on an axis of 1 - 10^-k: the median
// near 0.3, 90 % at 1, 99 % at 2, 99.9 % at 3. The maximum, q = 1, is at
// most, which is for the caller to choose beyond the others.
func QuantileAt(q, most float64) float64 {
	if !(q < 1) {
		return most
	}
	return min(-math.Log10(1-max(q, 0)), most)
}
