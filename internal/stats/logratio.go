package stats

import (
	"errors"
	"fmt"
	"math"
)

// LogRatio sums up the paired comparison of a mode with its baseline: N blocks
// with d_i = ln(x_i / b_i), their Mean and their sample standard deviation SD
// (divisor N-1; 0 and meaningless for N = 1).
//
// Whatever the trials of one block share, such as a slow minute of the machine,
// cancels in d_i. The log makes the answer the same, upside down, for mode to
// baseline and baseline to mode, and needs no care for a noisy denominator.
type LogRatio struct {
	N    int
	Mean float64
	SD   float64
}

// Paired compares x[i] with b[i], the values of one block. Errors: different
// lengths, no pairs, a value that is not finite and positive.
func Paired(x, b []float64) (LogRatio, error) {
	if len(x) != len(b) {
		return LogRatio{}, fmt.Errorf("pair values with their baseline: %d values, %d of the baseline", len(x), len(b))
	}
	if len(x) == 0 {
		return LogRatio{}, errors.New("pair values with their baseline: no pairs")
	}
	ds := make([]float64, len(x))
	for i := range x {
		if !positive(x[i]) || !positive(b[i]) {
			return LogRatio{}, fmt.Errorf("pair values with their baseline: pair %d is %g to %g, not both positive and finite", i+1, x[i], b[i])
		}
		ds[i] = math.Log(x[i]) - math.Log(b[i]) // the quotient could overflow
	}
	mean, sd := meanSD(ds)
	return LogRatio{N: len(ds), Mean: mean, SD: sd}, nil
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// Ratio is exp(Mean): the geometric mean of the ratios to the baseline.
func (l LogRatio) Ratio() float64 { return math.Exp(l.Mean) }

// Interval is the interval of the ratio at confidence conf, from the t interval
// of the paired log ratios:
//
//	exp(Mean +- t_{(1+conf)/2, N-1} SD / sqrt N)
//
// Its coverage is exact for log-normal noise, shared within blocks or not. It is
// a point if SD is 0. ok is false if N < 2 or conf is not within (0, 1).
func (l LogRatio) Interval(conf float64) (lo, hi float64, ok bool) {
	if l.N < 2 || !(conf > 0 && conf < 1) {
		return 0, 0, false
	}
	h := halfWidth(l.SD, l.N, conf)
	return math.Exp(l.Mean - h), math.Exp(l.Mean + h), true
}

// P is the two-sided p value of the paired t test of ratio 1, t = Mean sqrt N /
// SD with N-1 degrees of freedom. Without any spread it is 1 if every pair is
// equal and 0 if every pair differs by the same ratio. It is NaN, which [Holm]
// passes over, if N < 2.
func (l LogRatio) P() float64 {
	switch {
	case l.N < 2:
		return math.NaN()
	case l.SD == 0 && l.Mean == 0:
		return 1
	}
	return TTwoSidedP(l.inErrors(l.Mean), float64(l.N-1))
}

// inErrors is a distance in units of the standard error of Mean.
func (l LogRatio) inErrors(distance float64) float64 {
	return distance * math.Sqrt(float64(l.N)) / l.SD
}

// Equivalent is the two one-sided tests procedure (Schuirmann, J. Pharmacokinet.
// Biopharm. 15, 1987) at 5 %: whether the ratio is shown to lie above 1/(1+margin)
// and below 1+margin, each by a one-sided t test. This is so if and only if the
// 90 % interval lies inside. It is false if N < 2, and for a margin below 0.
func (l LogRatio) Equivalent(margin float64) bool {
	room := math.Log1p(margin) - math.Abs(l.Mean) // to the nearer limit
	if l.N < 2 || !(room >= 0) {
		return false
	}
	// The other limit is further away: its test passes with this one.
	return l.SD == 0 || TTwoSidedP(l.inErrors(room), float64(l.N-1))/2 <= 0.05
}
