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
	return se, satterthwaite(sx/math.Sqrt(x)/se, x-1, b-1)
}

// satterthwaite is the degrees of freedom of a variance that is a sum of two, the
// standard error of the first being part of the whole one. Shares of the variance, so
// that no square under- or overflows.
func satterthwaite(part, df, other float64) float64 {
	share := part * part
	return 1 / (share*share/df + (1-share)*(1-share)/other)
}

// Over is the ratio of two ratios that share no values, such as those of the same
// comparison in two runs: the difference of the Means, with a standard error that is
// the root of the sum of squares of both and Satterthwaite's degrees of freedom. N is
// the smaller one. Where either has no spread to tell (N < 2), N is 1.
func (l LogRatio) Over(other LogRatio) LogRatio {
	r := LogRatio{N: min(l.N, other.N), Mean: l.Mean - other.Mean}
	if r.N < 2 {
		return r
	}
	own, others := l.SD/math.Sqrt(float64(l.N)), other.SD/math.Sqrt(float64(other.N))
	se := math.Hypot(own, others)
	r.SD, r.DF = se*math.Sqrt(float64(r.N)), l.df()+other.df()
	if se > 0 {
		r.DF = satterthwaite(own/se, l.df(), other.df())
	}
	return r
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
