package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is a mean of N values with a confidence interval [Lo, Hi], in the unit of the
// values. A single value has no interval: then HasInterval is false, and Lo and Hi are 0
// and have no meaning.
type Estimate struct {
	N           int
	Value       float64
	Lo, Hi      float64
	HasInterval bool
}

// MeanInterval is the arithmetic mean with Student's t interval
//
//	mean +- t_{(1+conf)/2, n-1} s / sqrt n
//
// for independent, roughly normal values. The lower limit may be negative even
// where the quantity cannot be. Errors: no values, a value that is not finite,
// conf not within (0, 1).
func MeanInterval(xs []float64, conf float64) (Estimate, error) {
	if err := check(xs, conf); err != nil {
		return Estimate{}, fmt.Errorf("arithmetic mean: %w", err)
	}
	return interval(xs, conf), nil
}

// GeoMeanInterval is the geometric mean with the t interval of the logarithms,
//
//	exp(mean ln x +- t_{(1+conf)/2, n-1} s_{ln x} / sqrt n),
//
// for values whose noise is proportional to them, such as rates and times. Errors: those
// of MeanInterval, and a value that is not positive.
func GeoMeanInterval(xs []float64, conf float64) (Estimate, error) {
	lx, err := logs(xs)
	if err == nil {
		err = check(xs, conf)
	}
	if err != nil {
		return Estimate{}, fmt.Errorf("geometric mean: %w", err)
	}
	e := interval(lx, conf)
	e.Value = math.Exp(e.Value)
	if e.HasInterval {
		e.Lo, e.Hi = math.Exp(e.Lo), math.Exp(e.Hi)
	}
	return e, nil
}

// Median is the middle value, or the mean of the two in the middle; NaN without values. xs is
// not modified.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return sampleQuantile(slices.Sorted(slices.Values(xs)), 0.5)
}

func check(xs []float64, conf float64) error {
	if len(xs) == 0 {
		return errors.New("no values")
	}
	if !(conf > 0 && conf < 1) {
		return fmt.Errorf("confidence %g is not within (0, 1)", conf)
	}
	for i, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("value %d is %g", i+1, x)
		}
	}
	return nil
}

func interval(xs []float64, conf float64) Estimate {
	mean, sd := meanSD(xs)
	e := Estimate{N: len(xs), Value: mean}
	if e.N < 2 {
		return e
	}
	h := halfWidth(sd, e.N, conf)
	e.Lo, e.Hi, e.HasInterval = mean-h, mean+h, true
	return e
}

// halfWidth is the half-width of the t interval of a mean of n >= 2 values.
func halfWidth(sd float64, n int, conf float64) float64 {
	return TQuantile((1+conf)/2, float64(n-1)) * sd / math.Sqrt(float64(n))
}

// meanSD returns the mean and the sample standard deviation (divisor n-1), which is 0 for
// a single value. It uses two passes, because the spread of trials may be a very small
// part of their size.
func meanSD(xs []float64) (mean, sd float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x
	}
	mean /= n
	if len(xs) < 2 {
		return mean, 0
	}
	var sum, drift float64
	for _, x := range xs {
		d := x - mean
		sum += d * d
		drift += d
	}
	// drift is 0 but for rounding of the mean (Chan, Golub, LeVeque 1983).
	return mean + drift/n, math.Sqrt(math.Max(0, sum-drift*drift/n) / (n - 1))
}

// tNear is the number of degrees of freedom from which the expansion about the normal
// distribution is more accurate: gonum's inverse begins to lose digits, and from 1e5 on
// its results in the tails are wrong.
const tNear = 1e3

// TQuantile is the value below which a Student t variable with df degrees of freedom is
// with probability p (Student, Biometrika 6, 1908). It returns NaN unless 0 < p < 1 and
// df > 0 and finite.
//
// The inverse is gonum's; checked against closed forms and its own inverse it is accurate
// to 7 digits for p from 1e-8 to 1-1e-8 and df from 0.5 on. Beyond 1000 it is the
// expansion of Abramowitz and Stegun 26.7.5 about the normal quantile z,
//
//	z + (z^3+z)/(4 df) + (5z^5+16z^3+3z)/(96 df^2) + (3z^7+19z^5+17z^3-15z)/(384 df^3)
func TQuantile(p, df float64) float64 {
	if !(p > 0 && p < 1) || !(df > 0) || math.IsInf(df, 1) {
		return math.NaN() // distuv would panic or loop
	}
	if df > tNear {
		z := distuv.UnitNormal.Quantile(p)
		z2 := z * z
		return z * (1 + (z2+1)/(4*df) + ((5*z2+16)*z2+3)/(96*df*df) + (((3*z2+19)*z2+17)*z2-15)/(384*df*df*df))
	}
	return distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(p)
}

// TTwoSidedP is the probability that a Student t variable with df degrees of
// freedom is at least as far from 0 as t. An infinite t gives 0. It returns NaN
// for a NaN t and unless df > 0 and finite.
func TTwoSidedP(t, df float64) float64 {
	if math.IsNaN(t) || !(df > 0) || math.IsInf(df, 1) {
		return math.NaN()
	}
	if math.IsInf(t, 0) {
		return 0
	}
	// The lower tail, not 1 minus the upper one, to keep the digits of small p.
	return math.Min(1, 2*distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-math.Abs(t)))
}

// MeanZeroP is the two-sided p value of Student's t test that the mean of independent,
// roughly normal values is 0. It is NaN for fewer than two values, and 0 if all values are
// equal and not 0.
func MeanZeroP(xs []float64) float64 {
	if len(xs) < 2 {
		return math.NaN()
	}
	mean, sd := meanSD(xs)
	if mean == 0 {
		return 1
	}
	return TTwoSidedP(mean/(sd/math.Sqrt(float64(len(xs)))), float64(len(xs)-1))
}
