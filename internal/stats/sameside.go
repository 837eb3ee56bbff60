package stats

import "math"

// TailDF are the degrees of freedom of the Student t distribution that [SameSideP] assumes: tails
// as heavy as those of results of a busy machine.
const TailDF = 6

// SameSideP is the two-sided p value of the test that k >= 1 further values are of the
// distribution of n earlier ones, where all k are on the same side of the mean of these, the
// nearest at a distance of that many of their sample standard deviations, which has df degrees of
// freedom. The values are Student's t with [TailDF] degrees of freedom, not normal: what is far
// from the mean is then no proof of a change by itself, but several in a row are. With Q the upper
// tail of one value, e the error of the mean and s that of the standard deviation, both in units of
// the true one,
//
//	p = 2 E[Q(e + distance s)^k],   e normal with variance 1/n,  df s^2 chi-squared
//
// wider is how much more the further values vary than the earlier ones, as a ratio of standard
// deviations of at least 1. NaN for arguments outside these ranges.
func SameSideP(distance float64, k, n int, df, wider float64) float64 {
	if !(distance >= 0) || k < 1 || n < 1 || !(df > 0) || !(wider >= 1) || math.IsInf(df, 1) {
		return math.NaN()
	}
	// Trapezoids over ln s and e in steps of about a standard deviation, which are accurate for a bell, normalised by the
	// sum of their weights. To the left the density of ln s falls as exp(df ln s).
	var p, all float64
	step := 1 / math.Sqrt(2*df)
	for x := -max(24/df, 8*step); x < 8*step; x += step {
		s := math.Exp(x)
		ofS := math.Exp(df * (x - s*s/2 + 0.5))
		for z := -6.0; z <= 6; z++ {
			weight := ofS * math.Exp(-z*z/2)
			all += weight
			p += weight * math.Pow(heavyTail((z/math.Sqrt(float64(n))+distance*s)/wider), float64(k))
		}
	}
	return min(1, 2*p/all)
}

// SameSideDistance is the distance at which [SameSideP] is p, within 0.1 %; NaN for arguments outside the
// ranges of that, or unless 0 < p < 1, and +Inf where it is above a million.
func SameSideDistance(p float64, k, n int, df, wider float64) float64 {
	if !(p > 0 && p < 1) || math.IsNaN(SameSideP(0, k, n, df, wider)) {
		return math.NaN()
	}
	// Both logarithms are nearly proportional in the tail, so a secant comes close; the bisection between two of them ends.
	above := func(ln float64) float64 { return math.Log(SameSideP(math.Exp(ln), k, n, df, wider) / p) }
	lo, hi := math.Log(1e-3), math.Log(1e6)
	atLo, atHi := above(lo), above(hi)
	switch {
	case atLo <= 0:
		return 0
	case atHi > 0:
		return math.Inf(1)
	}
	for i := 0; hi-lo > 0.001; i++ {
		mid := (lo + hi) / 2
		if i%2 == 1 {
			mid = lo + (hi-lo)*atLo/(atLo-atHi)
		}
		if at := above(mid); at > 0 {
			lo, atLo = mid, at
		} else {
			hi, atHi = mid, at
		}
	}
	return math.Exp(hi)
}

// heavyTail is the probability that a Student t variable with [TailDF] degrees of freedom, scaled to
// a standard deviation of 1, is above x (Abramowitz and Stegun 26.7.4).
func heavyTail(x float64) float64 {
	t := x * math.Sqrt(TailDF/(TailDF-2.0))
	cos2 := TailDF / (TailDF + t*t)
	sin := t / math.Sqrt(TailDF+t*t)
	return max(0, 0.5-sin/2*(1+cos2/2+3*cos2*cos2/8))
}
