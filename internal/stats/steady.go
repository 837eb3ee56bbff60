package stats

import "math"

// Steady is what [SteadyState] says of a series of samples.
type Steady struct {
	Cut       int     // samples to leave out at the beginning
	Mean      float64 // of the samples kept
	Shift     float64 // second half of the kept part against the first, relative to Mean; -0.1: 10 % lower
	Unsettled bool    // the halves differ by more than chance and more than 2 %: no steady state
	Judged    bool    // false: too short, or not numbers; then all else is as if nothing were wrong
}

const (
	steadyLeast = 4    // batches, to have two in each half
	steadyShift = 0.02 // of the mean: a smaller shift is no reason to reject a trial
	steadySigma = 3    // standard errors
)

// SteadyState finds where the warm-up of a series of equally long samples ends,
// and whether what follows is steady. m samples make a batch: 2 for samples of
// 0.5 to 1 s, 5 for those of 0.1 s.
//
// The cut is MSER-m's (White, Simulation 69, 1997; White, Cobb, Spratt, WSC 2000):
// of the means Z_1..Z_k of the batches, leave out the first
//
//	d* = argmin_{0 <= d <= k/2} sum_{j>d} (Z_j - mean_{j>d})^2 / (k-d)^2
//
// The published sign of failure, a minimum in the second half, fires on one in
// seven perfectly steady series. Instead the series is Unsettled if the halves of
// the part kept differ by more than 3 standard errors of that difference and by
// more than 2 % of its mean. A middle batch belongs to neither half.
//
// Samples beyond the last whole batch take no part in cut and halves, but are in
// Mean. Cut is a multiple of m and at most half of the series. Fewer than 4
// batches, m below 1, or a sample that is not finite: Judged is false, nothing is
// cut. A short series cannot show a slow transient: one of 6 s keeps 7 % of bias
// from a time constant of 3 s without any flag. That is what a pilot trial is for.
func SteadyState(series []float64, m int) Steady {
	if check(series, 0.95) != nil {
		return Steady{}
	}
	all, _ := meanSD(series)
	z := Batches(series, m)
	if len(z) < steadyLeast {
		return Steady{Mean: all}
	}
	d := mser(z)
	s := Steady{Cut: d * m, Judged: true}
	s.Mean, _ = meanSD(series[s.Cut:])
	kept := z[d:]
	half := len(kept) / 2
	m1, s1 := meanSD(kept[:half])
	m2, s2 := meanSD(kept[len(kept)-half:])
	se := math.Hypot(s1, s2) / math.Sqrt(float64(half))
	diff, scale := math.Abs(m2-m1), math.Abs(s.Mean)
	if scale > 0 {
		s.Shift = (m2 - m1) / scale
	}
	s.Unsettled = diff > steadySigma*se && diff > steadyShift*scale
	return s
}

// mser is the number of batches to leave out, at most half of them.
func mser(z []float64) int {
	k := len(z)
	best, cut := math.Inf(1), 0
	for d := 0; d <= k/2; d++ {
		_, sd := meanSD(z[d:])
		n := float64(k - d)
		if v := sd * sd * (n - 1) / (n * n); v < best {
			best, cut = v, d
		}
	}
	return cut
}

// Batches are the means of m samples each, in order; what is left over at the end
// is left out. None if m < 1.
func Batches(series []float64, m int) []float64 {
	if m < 1 {
		return nil
	}
	z := make([]float64, 0, len(series)/m)
	for i := m; i <= len(series); i += m {
		mean, _ := meanSD(series[i-m : i])
		z = append(z, mean)
	}
	return z
}
