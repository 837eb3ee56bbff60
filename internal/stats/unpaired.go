package stats

import (
	"fmt"
	"math"
)

// Unpaired compares values that share no blocks, with Welch's t on the logarithms
// (Welch, Biometrika 34, 1947): the standard error is
//
//	sqrt(s_x^2/n_x + s_b^2/n_b),   s of ln x and ln b,
//
// with the degrees of freedom of Satterthwaite (Biometrics Bull. 2, 1946),
//
//	(s_x^2/n_x + s_b^2/n_b)^2 / ((s_x^2/n_x)^2/(n_x-1) + (s_b^2/n_b)^2/(n_b-1)),
//
// between min(n_x, n_b) - 1 and n_x + n_b - 2. N is the smaller of n_x and n_b,
// and SD the standard error times sqrt N. A side of one value has no spread to
// tell: then N is 1, and there is neither interval nor p. Errors: a side without
// values, a value that is not finite and positive.
//
// Where blocks are known use [Paired]: what a block shares does not cancel here.
func Unpaired(x, b []float64) (LogRatio, error) {
	const what = "compare values with those of the baseline"
	lx, err := logs(x)
	if err != nil {
		return LogRatio{}, fmt.Errorf("%s: %w", what, err)
	}
	lb, err := logs(b)
	if err != nil {
		return LogRatio{}, fmt.Errorf("%s: baseline: %w", what, err)
	}
	mx, sx := meanSD(lx)
	mb, sb := meanSD(lb)
	l := LogRatio{N: min(len(x), len(b)), Mean: mx - mb}
	if l.N < 2 {
		return l, nil
	}
	se, df := welch(sx, len(x), sb, len(b))
	l.SD, l.DF = se*math.Sqrt(float64(l.N)), df
	return l, nil
}

// welch is the standard error of the difference of two means of n >= 2 values
// each, and its degrees of freedom; those of a pooled spread where there is none.
func welch(sx float64, nx int, sb float64, nb int) (se, df float64) {
	x, b := float64(nx), float64(nb)
	se = math.Hypot(sx/math.Sqrt(x), sb/math.Sqrt(b))
	if se == 0 {
		return 0, x + b - 2
	}
	// Shares of the variance, so that no square under- or overflows.
	share := sx / math.Sqrt(x) / se
	share *= share
	return se, 1 / (share*share/(x-1) + (1-share)*(1-share)/(b-1))
}

// logs are the logarithms of values that must be finite and positive.
func logs(xs []float64) ([]float64, error) {
	if err := check(xs, 0.95); err != nil {
		return nil, err
	}
	out := make([]float64, len(xs))
	for i, x := range xs {
		if x <= 0 {
			return nil, fmt.Errorf("value %d is %g, not positive", i+1, x)
		}
		out[i] = math.Log(x)
	}
	return out, nil
}
