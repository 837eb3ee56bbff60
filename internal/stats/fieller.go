package stats

import (
	"errors"
	"fmt"
	"math"
)

// MeanRatio is a ratio of two arithmetic means. N is the smaller number of values.
type MeanRatio struct {
	Estimate
	DF        float64 // degrees of freedom, 0 where there is no interval
	Unbounded bool    // the baseline's mean cannot be told from 0: no finite interval holds the ratio
}

// Fieller is the ratio of the arithmetic means of x and b, values that share no
// blocks, with the interval of all ratios R that a t test of mean x = R mean b does
// not reject (Fieller, J. R. Statist. Soc. B 16, 1954; the effect-size interval of
// Kalibera and Jones 2013): with means X, B and
//
//	hx^2 = t^2 s_x^2/n_x,   hb^2 = t^2 s_b^2/n_b,   t = t_{(1+conf)/2, DF}:
//
//	[X B -+ sqrt((X B)^2 - (X^2-hx^2)(B^2-hb^2))] / (B^2 - hb^2)
//
// DF is Satterthwaite's for X - R B at R = X/B (Tamhane, Logan, J. Biopharm. Stat.
// 14, 2004). If hb >= |B| no finite interval exists: Unbounded is true and
// HasInterval false. A side of one value has neither. Values may be 0 or negative.
// Errors: a side without values, a value that is not finite, a baseline whose mean
// is 0, conf not within (0, 1).
//
// For positive values with noise in proportion, [Unpaired] is better; where blocks
// are known, [Paired] is.
func Fieller(x, b []float64, conf float64) (MeanRatio, error) {
	const what = "ratio of arithmetic means"
	if err := check(x, conf); err != nil {
		return MeanRatio{}, fmt.Errorf("%s: %w", what, err)
	}
	if err := check(b, conf); err != nil {
		return MeanRatio{}, fmt.Errorf("%s: baseline: %w", what, err)
	}
	mx, sx := meanSD(x)
	mb, sb := meanSD(b)
	if mb == 0 {
		return MeanRatio{}, errors.New(what + ": the mean of the baseline is 0")
	}
	r := mx / mb
	m := MeanRatio{Estimate: Estimate{N: min(len(x), len(b)), Value: r}}
	if m.N < 2 {
		return m, nil
	}
	// In units of B, where the formula has R for X and 1 for B.
	ex, eb := sx/math.Sqrt(float64(len(x)))/mb, sb/math.Sqrt(float64(len(b)))/mb
	_, m.DF = welch(sx, len(x), r*sb, len(b))
	t := TQuantile((1+conf)/2, m.DF)
	hx2, hb2 := t*t*ex*ex, t*t*eb*eb
	if !(hb2 < 1) {
		m.Unbounded, m.DF = true, 0
		return m, nil
	}
	root := math.Sqrt(math.Max(0, r*r*hb2+hx2*(1-hb2))) // the terms of r^2 cancel
	m.Lo, m.Hi, m.HasInterval = (r-root)/(1-hb2), (r+root)/(1-hb2), true
	return m, nil
}
