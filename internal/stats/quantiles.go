package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// The distributions of this package are those of the regularized incomplete beta function I_x(a, b) and the normal
// quantile, both of gonum's mathext (Cephes; Wichura, Algorithm AS 241, Appl. Statist. 37, 1988). The package distuv,
// which has the same formulas, would bring linear algebra of 2.6 MB with it.

// tNear is the number of degrees of freedom from which the expansion about the normal
// distribution is more accurate: the inverse of I begins to lose digits, and from 1e5 on
// its results in the tails are wrong.
const tNear = 1e3

// TQuantile is the value below which a Student t variable with df degrees of freedom is
// with probability p (Student, Biometrika 6, 1908). It returns NaN unless 0 < p < 1 and
// df > 0 and finite.
//
// For p < 1/2 it is -sqrt(df (1-x)/x), where x solves I_x(df/2, 1/2) = 2p (Abramowitz and
// Stegun 26.7.1); larger p are mirrored. Checked against closed forms and its own inverse
// it is accurate to 7 digits for p from 1e-8 to 1-1e-8 and df from 0.5 on. Beyond 1000 it
// is the expansion of Abramowitz and Stegun 26.7.5 about the normal quantile z,
//
//	z + (z^3+z)/(4 df) + (5z^5+16z^3+3z)/(96 df^2) + (3z^7+19z^5+17z^3-15z)/(384 df^3)
func TQuantile(p, df float64) float64 {
	switch {
	case !(p > 0 && p < 1) || !shape(df):
		return math.NaN() // mathext would panic or loop
	case df > tNear:
		z := normalQuantile(p)
		z2 := z * z
		return z * (1 + (z2+1)/(4*df) + ((5*z2+16)*z2+3)/(96*df*df) + (((3*z2+19)*z2+17)*z2-15)/(384*df*df*df))
	case p == 0.5:
		return 0
	}
	x := mathext.InvRegIncBeta(df/2, 0.5, 2*math.Min(p, 1-p))
	return math.Copysign(math.Sqrt(df*(1-x)/x), p-0.5)
}

// TTwoSidedP is the probability I_x(df/2, 1/2), x = df/(df+t^2), that a Student t variable
// with df degrees of freedom is at least as far from 0 as t (Abramowitz and Stegun 26.7.1).
// An infinite t gives 0. It returns NaN for a NaN t and unless df > 0 and finite.
func TTwoSidedP(t, df float64) float64 {
	switch {
	case math.IsNaN(t) || !shape(df):
		return math.NaN()
	case math.IsInf(t, 0):
		return 0
	case t == 0:
		return 1
	}
	return math.Min(1, mathext.RegIncBeta(df/2, 0.5, df/(t*t+df)))
}

// BetaQuantile is the value below which a beta variable with shapes a and b is with
// probability p. It returns NaN unless 0 < p < 1 and both shapes are positive and finite.
// It is the inverse of I: checked against closed forms and its own inverse it is accurate to 7
// digits for p from 1e-6 to 1-1e-6 and shapes from 0.5 to 1e4; further out in the tails
// it loses digits without an error.
func BetaQuantile(p, a, b float64) float64 {
	if !(p > 0 && p < 1) || !shape(a) || !shape(b) {
		return math.NaN()
	}
	return mathext.InvRegIncBeta(a, b, p)
}

// normalQuantile is the value below which a standard normal variable is with probability p, 0 < p < 1.
func normalQuantile(p float64) float64 { return mathext.NormalQuantile(p) }

func shape(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
