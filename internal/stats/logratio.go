package stats

import (
	"errors"
	"fmt"
	"math"
)

// LogRatio summarises the comparison of a mode with its baseline on a log scale: the Mean
// difference of the logarithms, and its standard error SD / sqrt N.
//
// From [Paired], N is the number of blocks with d_i = ln(x_i / b_i), and SD their sample
// standard deviation (divisor N-1; 0 and meaningless for N = 1). Whatever the trials of
// one block share, such as a slow minute of the machine, cancels in d_i. From [Unpaired],
// N is the smaller of the two numbers of values, and SD is derived from the standard
// error. With the logarithm, the ratios of mode to baseline and of baseline to mode are
// exact inverses, and a noisy denominator needs no special treatment.
type LogRatio struct {
	N    int
	Mean float64
	SD   float64
	DF   float64 // degrees of freedom of SD; 0 means N-1
	// Setups is the number of set-ups behind N pairs of which some share one; 0 if each pair has its own.
	// With 1 the result is valid for that set-up alone.
	Setups int
}

// Paired compares x[i] with b[i], the values of one block. Errors: different
// lengths, no pairs, a value that is not finite and positive.
func Paired(x, b []float64) (LogRatio, error) {
	ds, err := Differences(x, b)
	if err != nil {
		return LogRatio{}, err
	}
	mean, sd := meanSD(ds)
	return LogRatio{N: len(ds), Mean: mean, SD: sd}, nil
}

// Differences are the d_i = ln(x[i] / b[i]) that [Paired] summarises. Errors: those of
// Paired.
func Differences(x, b []float64) ([]float64, error) {
	if len(x) != len(b) {
		return nil, fmt.Errorf("pair values with their baseline: %d values, %d of the baseline", len(x), len(b))
	}
	if len(x) == 0 {
		return nil, errors.New("pair values with their baseline: no pairs")
	}
	ds := make([]float64, len(x))
	for i := range x {
		if !positive(x[i]) || !positive(b[i]) {
			return nil, fmt.Errorf("pair values with their baseline: pair %d is %g to %g, not both positive and finite", i+1, x[i], b[i])
		}
		ds[i] = math.Log(x[i]) - math.Log(b[i]) // the quotient could overflow
	}
	return ds, nil
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// Ratio is exp(Mean): the geometric mean of the ratios to the baseline.
func (l LogRatio) Ratio() float64 { return math.Exp(l.Mean) }

// df is the degrees of freedom of SD, for N >= 2.
func (l LogRatio) df() float64 {
	if l.DF > 0 {
		return l.DF
	}
	return float64(l.N - 1)
}

// logHalfWidth is the half-width of the t interval of Mean, for N >= 2.
func (l LogRatio) logHalfWidth(conf float64) float64 {
	return TQuantile((1+conf)/2, l.df()) * l.SD / math.Sqrt(float64(l.N))
}

// Interval is the interval of the ratio at confidence conf, from the t interval of the
// log ratio:
//
//	exp(Mean +- t_{(1+conf)/2, DF} SD / sqrt N)
//
// Its coverage is exact for paired log-normal noise, shared within blocks or not, and for
// unpaired noise as good as Welch's approximation. It is a point if SD is 0. ok is false
// if N < 2 or conf is not within (0, 1).
func (l LogRatio) Interval(conf float64) (lo, hi float64, ok bool) {
	if l.N < 2 || !(conf > 0 && conf < 1) {
		return 0, 0, false
	}
	h := l.logHalfWidth(conf)
	return math.Exp(l.Mean - h), math.Exp(l.Mean + h), true
}

// HalfWidth is half the width of [LogRatio.Interval] relative to the ratio, sinh(t SD /
// sqrt N): 0.025 is 2.5 % of the ratio. It is NaN if there is no interval and +Inf if it
// overflows.
func (l LogRatio) HalfWidth(conf float64) float64 {
	if l.N < 2 || !(conf > 0 && conf < 1) {
		return math.NaN()
	}
	return math.Sinh(l.logHalfWidth(conf))
}

// P is the two-sided p value of the t test of ratio 1, t = Mean sqrt N / SD with DF
// degrees of freedom. Without any spread it is 1 if every pair is equal and 0 if every
// pair differs by the same ratio. It is NaN, which [Holm] skips, if N < 2.
func (l LogRatio) P() float64 {
	switch {
	case l.N < 2:
		return math.NaN()
	case l.SD == 0 && l.Mean == 0:
		return 1
	}
	return TTwoSidedP(l.inErrors(l.Mean), l.df())
}

// inErrors converts a distance to units of the standard error of Mean.
func (l LogRatio) inErrors(distance float64) float64 {
	return distance * math.Sqrt(float64(l.N)) / l.SD
}

// EquivalentP is the p value of the two one-sided tests procedure (TOST:
// Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987), the larger of the two: that
// of the test that the ratio is beyond the nearer of 1/(1+margin) and 1+margin,
//
//	P(T_DF > (ln(1+margin) - |Mean|) sqrt N / SD)
//
// It is below one half if the ratio found is inside. Without spread it is 0
// inside and on the limit, 1 beyond. NaN if N < 2, or for a margin below 0.
func (l LogRatio) EquivalentP(margin float64) float64 {
	if l.N < 2 || !(margin >= 0) {
		return math.NaN()
	}
	room := math.Log1p(margin) - math.Abs(l.Mean) // distance to the nearer limit; the other test passes with this one
	if l.SD == 0 {
		if room >= 0 {
			return 0
		}
		return 1
	}
	p := TTwoSidedP(l.inErrors(room), l.df()) / 2
	if room < 0 {
		return 1 - p
	}
	return p
}

// Equivalent reports whether the ratio is shown to be above 1/(1+margin) and below
// 1+margin, each by a one-sided test at 5 %. This is equivalent to a 90 % interval inside
// these limits. It is false if N < 2, and for a margin below 0.
func (l LogRatio) Equivalent(margin float64) bool {
	return l.EquivalentP(margin) <= 0.05 // false for NaN
}

// Unpaired compares values that share no blocks, with Welch's t on the logarithms (Welch,
// Biometrika 34, 1947): the standard error is
//
//	sqrt(s_x^2/n_x + s_b^2/n_b),   s of ln x and ln b,
//
// with the degrees of freedom of Satterthwaite (Biometrics Bull. 2, 1946),
//
//	(s_x^2/n_x + s_b^2/n_b)^2 / ((s_x^2/n_x)^2/(n_x-1) + (s_b^2/n_b)^2/(n_b-1)),
//
// between min(n_x, n_b) - 1 and n_x + n_b - 2. N is the smaller of n_x and n_b, and SD
// the standard error times sqrt N. A side with one value has no known spread: then N is
// 1, and there is neither interval nor p. Errors: a side without values, a value that is
// not finite and positive.
//
// If blocks are known use [Paired]: what a block shares does not cancel here. Of values that share set-ups, which are as of
// [PairedBySetup], each side is summarised as there.
func Unpaired(x, b []float64, xSetups, bSetups []int) (LogRatio, error) {
	const what = "compare values with those of the baseline"
	lx, err := logs(x)
	if err != nil {
		return LogRatio{}, fmt.Errorf("%s: %w", what, err)
	}
	lb, err := logs(b)
	if err != nil {
		return LogRatio{}, fmt.Errorf("%s: baseline: %w", what, err)
	}
	return LevelBySetup(lx, xSetups).Over(LevelBySetup(lb, bSetups)), nil
}

// satterthwaite is the degrees of freedom of a variance that is a sum of two, the
// standard error of the first being part of the whole one. Shares of the variance, so
// that no square under- or overflows.
func satterthwaite(part, df, other float64) float64 {
	share := part * part
	return 1 / (share*share/df + (1-share)*(1-share)/other)
}

// Over is the ratio of two ratios that share no values, such as those of the same
// comparison in two runs: the difference of the Means, with a standard error that is the
// root of the sum of squares of both and Satterthwaite's degrees of freedom. N is the
// smaller one. If the spread of either is unknown (N < 2), N is 1. Setups is 1 if all pairs of either share one.
func (l LogRatio) Over(other LogRatio) LogRatio {
	r := LogRatio{N: min(l.N, other.N), Mean: l.Mean - other.Mean}
	if l.Setups == 1 || other.Setups == 1 {
		r.Setups = 1
	}
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
