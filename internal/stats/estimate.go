package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
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
