package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// tNear is the number of degrees of freedom from which the expansion about the
// normal distribution is the better one: gonum's inverse begins to lose digits, and
// from 1e5 on gives nonsense in the tails.
const tNear = 1e3

// TQuantile is the value below which a Student t variable with df degrees of
// freedom lies with probability p (Student, Biometrika 6, 1908). It returns NaN
// unless 0 < p < 1 and df > 0 and finite.
//
// The inverse is gonum's; checked against closed forms and its own inverse it is
// good to 7 digits for p from 1e-8 to 1-1e-8 and df from 0.5 on. Beyond 1000 it
// is the expansion of Abramowitz and Stegun 26.7.5 about the normal quantile z,
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
	// The lower tail, not 1 minus the upper one: small p keep their digits.
	return math.Min(1, 2*distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-math.Abs(t)))
}
