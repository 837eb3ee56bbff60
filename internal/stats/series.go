package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Batches are the means of m samples each, in order; what is left over at the end
// is left out. None if m < 1.
func Batches(series []float64, m int) []float64 {
	if m < 1 {
		return nil
	}
	z := make([]float64, 0, len(series)/m)
	for i := m; i <= len(series); i += m {
		mean, _ := meanSD(series[i-m : i])
		z = append(z, mean)
	}
	return z
}

// Slope is a trend in the unit of the samples for each sample, with its interval.
type Slope struct {
	Value, Lo, Hi float64
}

// TheilSen is the median of the slopes between all pairs of samples, which up to
// 29 % of outliers cannot move far, with the interval of Sen (J. Am. Statist. Assoc.
// 63, 1968): of the N = n(n-1)/2 slopes in order those numbered (N -+ C)/2, with
// C = z sqrt(n(n-1)(2n+5)/18). It assumes independent samples: use batch means. It
// takes n^2 log n steps. ok is false where C >= N, which at 95 % is below 5 samples,
// for samples that are not finite, and for a conf not within (0, 1).
func TheilSen(series []float64, conf float64) (s Slope, ok bool) {
	if check(series, conf) != nil || len(series) < 2 {
		return Slope{}, false
	}
	n := len(series)
	slopes := make([]float64, 0, n*(n-1)/2)
	for i, x := range series {
		for j := range i {
			slopes = append(slopes, (x-series[j])/float64(i-j))
		}
	}
	slices.Sort(slopes)
	all, size := float64(len(slopes)), float64(n)
	c := distuv.UnitNormal.Quantile((1+conf)/2) * math.Sqrt(size*(size-1)*(2*size+5)/18)
	lo := int(math.Floor((all - c) / 2)) // counted from 1, rounded outwards
	hi := int(math.Ceil((all+c)/2)) + 1
	if lo < 1 || hi > len(slopes) {
		return Slope{}, false
	}
	return Slope{Value: sampleQuantile(slopes, 0.5), Lo: slopes[lo-1], Hi: slopes[hi-1]}, true
}

// sampleQuantile interpolates between the values on either side.
func sampleQuantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	f := at - math.Floor(at)
	return (1-f)*sorted[i] + f*sorted[j] // no difference that could overflow
}
