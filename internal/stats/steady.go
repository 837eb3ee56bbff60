package stats

import "math"

// Steady is what [SteadyState] says of a series of samples.
type Steady struct {
	Cut       int     // samples to leave out at the beginning
	Mean      float64 // of the samples kept
	Shift     float64 // second half of the kept part against the first, relative to Mean; -0.1: 10 % lower
	Unsettled bool    // the halves differ by more than chance and more than 2 %: no steady state
	Drift     float64 // trend over the kept part by Theil and Sen, relative to Mean; 0.1: rose by 10 %
	Drifting  bool    // that trend is more than chance and more than 2 %; a hint, no reason to reject a trial
	Judged    bool    // false: too short, or not numbers; then all else is as if nothing were wrong
}

const (
	steadyLeast = 4     // batches
	steadyShift = 0.02  // of the mean: a smaller shift is no reason to reject a trial
	steadySure  = 0.998 // one-sided; in a long series 2.9 standard errors
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
// the part kept, h batches each, differ by more than 2 % of its mean and by more
// than t_{.998, 2(h-1)} standard errors of that difference. The quantile is about 3
// for a pilot trial; a plain 3 would fire on 10 to 45 % of steady trials of 4 to 6
// noisy batches, whose spread is known too badly. A middle batch belongs to neither
// half. On steady series with 2 to 7 % of noise it fires in 0 to 2 %; a step of 10 % late in
// a series of 30 s it finds in 95 % (noise of 2 %) or 53 % (7 %) of cases.
//
// Drifting is the other look, better for slow trends: the 99 % interval of
// [TheilSen] excludes 0, and the trend comes to more than 2 % over the kept part. It
// too fires on 1 to 2 % of steady series.
//
// Samples beyond the last whole batch take no part but in Mean. Cut is a multiple
// of m and at most half of the series. Fewer than 4 batches, m below 1, or a sample
// that is not finite: Judged is false, nothing is cut. A short series cannot show a
// slow transient: one of 6 s keeps 7 % of bias from a time constant of 3 s without
// any flag. That is what a pilot trial is for.
func SteadyState(series []float64, m int) Steady {
	if check(series, 0.95) != nil {
		return Steady{}
	}
	z := Batches(series, m)
	if len(z) < steadyLeast {
		all, _ := meanSD(series)
		return Steady{Mean: all}
	}
	d := mser(z)
	s := Steady{Cut: d * m, Judged: true}
	s.Mean, _ = meanSD(series[s.Cut:])
	s.halves(z[d:])
	s.trend(z[d:])
	return s
}

// halves compares those of the kept batches.
func (s *Steady) halves(kept []float64) {
	h := len(kept) / 2
	m1, s1 := meanSD(kept[:h])
	m2, s2 := meanSD(kept[len(kept)-h:])
	diff, scale := m2-m1, math.Abs(s.Mean)
	if scale > 0 {
		s.Shift = diff / scale
	}
	if h < 2 {
		return // no spread to compare with
	}
	se := math.Hypot(s1, s2) / math.Sqrt(float64(h))
	s.Unsettled = math.Abs(diff) > steadyShift*scale && math.Abs(diff) > TQuantile(steadySure, float64(2*(h-1)))*se
}

// trend looks for a slope over the kept batches.
func (s *Steady) trend(kept []float64) {
	slope, ok := TheilSen(kept, 0.99)
	if !ok || s.Mean == 0 {
		return
	}
	s.Drift = slope.Value * float64(len(kept)-1) / math.Abs(s.Mean)
	s.Drifting = math.Abs(s.Drift) > steadyShift && (slope.Lo > 0 || slope.Hi < 0)
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
