package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// TQuantile is the value below which a Student t variable with df degrees of
// freedom lies with probability p (Student, Biometrika 6, 1908). It returns NaN
// unless 0 < p < 1 and df > 0 and finite.
func TQuantile(p, df float64) float64 {
	if !(p > 0 && p < 1) || !(df > 0) || math.IsInf(df, 1) {
		return math.NaN() // distuv would panic or loop
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
