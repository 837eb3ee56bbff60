package stats

import (
	"math"
	"slices"
)

// Steady is the result of [SteadyState] for a series of samples.
type Steady struct {
	Cut       int     // samples to leave out at the beginning
	Mean      float64 // of the samples kept
	Shift     float64 // second half of the kept part against the first, relative to Mean; -0.1: 10 % lower
	Unsettled bool    // the halves differ by more than chance and more than 2 %: no steady state
	Drift     float64 // trend over the kept part by Theil and Sen, relative to Mean; 0.1: rose by 10 %
	Drifting  bool    // the trend is more than chance and more than 2 %; a hint, not a reason to reject a trial
	Judged    bool    // false: too short, or not finite; all other fields are then as for a steady series
}

const (
	minSteadySamples = 4     // batches
	steadyShift      = 0.02  // of the mean: a smaller shift does not reject a trial
	steadySure       = 0.998 // one-sided; in a long series 2.9 standard errors
	levelRisk        = 0.01  // of a change of level that is chance
)

// SteadyState finds where the warm-up of a series of equally long samples ends, and
// whether the rest is steady. m samples make a batch: 2 for samples of 0.5 to 1 s, 5 for
// those of 0.1 s.
//
// The cut is that of MSER-m (White, Simulation 69, 1997; White, Cobb, Spratt, WSC 2000):
// of the means Z_1..Z_k of the batches, leave out the first
//
//	d* = argmin_{0 <= d <= k/2} sum_{j>d} (Z_j - mean_{j>d})^2 / (k-d)^2
//
// The published sign of failure, a minimum in the second half, occurs in one of seven
// perfectly steady series. Instead the series is Unsettled if the halves of the part
// kept, h batches each, differ by more than 2 % of its mean and by more than t_{.998,
// 2(h-1)} standard errors of that difference. The quantile is about 3 for a pilot trial;
// a plain 3 would flag 10 to 45 % of steady trials of 4 to 6 noisy batches, whose spread
// is poorly known. A middle batch belongs to neither half. Of steady series with 2 to 7 %
// of noise it flags 0 to 2 %; a step of 10 % late in a series of 30 s is found in 95 %
// (noise of 2 %) or 53 % (7 %) of cases.
//
// Drifting is a second test that is better for slow trends: the 99 % interval of
// [TheilSen] excludes 0, and the trend is more than 2 % over the kept part. It also flags
// 1 to 2 % of steady series.
//
// Samples beyond the last whole batch only count in Mean. Cut is a multiple of m and at
// most half of the series. With fewer than 4 batches, m below 1, or a sample that is not
// finite, Judged is false and nothing is cut. A short series cannot show a slow
// transient: one of 6 s keeps 7 % of bias from a time constant of 3 s without any flag.
// Pilot trials exist for that reason.
func SteadyState(series []float64, m int) Steady {
	if check(series, 0.95) != nil {
		return Steady{}
	}
	z := Batches(series, m)
	if len(z) < minSteadySamples {
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

// halves compares the halves of the kept batches.
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

// trend tests for a slope over the kept batches.
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

// Batches are the means of m samples each, in order; incomplete batches at the end are
// omitted. The result is empty if m < 1.
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

// LevelChanged reports whether the level of a series changed, whenever that was: whether the batches, divided in two
// where their means differ most, differ by more than t_{1-.01/2(k-1), k-2} standard errors. The k-1 divisions of k
// batches are as many tests (Bonferroni), so that a steady series of independent batches is reported in at most 1 of 100
// cases; a slow trend is reported too. It is true for fewer than 4 batches, which cannot show that a level held.
func LevelChanged(batches []float64) bool {
	k := len(batches)
	if k < minSteadySamples {
		return true
	}
	critical := TQuantile(1-levelRisk/float64(2*(k-1)), float64(k-2))
	for at := 1; at < k; at++ {
		before, s1 := meanSD(batches[:at])
		after, s2 := meanSD(batches[at:])
		n1, n2 := float64(at), float64(k-at)
		pooled := math.Sqrt(((n1-1)*s1*s1 + (n2-1)*s2*s2) / (n1 + n2 - 2))
		if math.Abs(after-before) > critical*pooled*math.Sqrt(1/n1+1/n2) {
			return true
		}
	}
	return false
}

// Slope is a trend in the unit of the samples per sample, with its interval.
type Slope struct {
	Value, Lo, Hi float64
}

// TheilSen is SlopeAt of samples at the points 0, 1, 2 and so on.
func TheilSen(series []float64, conf float64) (s Slope, ok bool) {
	points := make([]float64, len(series))
	for i := range points {
		points[i] = float64(i)
	}
	return SlopeAt(points, series, conf)
}

// SlopeAt is the median of the slopes between all pairs of samples at different points, in the unit of the samples for each unit of
// the points. It is robust against up to 29 % of outliers. The interval is that of Sen (J. Am. Statist. Assoc. 63, 1968): of
// the N slopes in order those numbered (N -+ C)/2, with C = z sqrt(V), V = (n(n-1)(2n+5) - sum of t(t-1)(2t+5)) / 18, where t
// samples are at one point. It assumes independent samples (use batch means), alike around one line. It takes n^2 log n steps. ok is
// false if C >= N, which at 95 % is below 5 samples at points of their own, for values that are not finite, for fewer than two points, for
// points that are not as many as the samples, and for a conf not within (0, 1).
func SlopeAt(points, samples []float64, conf float64) (s Slope, ok bool) {
	if len(points) != len(samples) || len(samples) < 2 || check(samples, conf) != nil || check(points, conf) != nil {
		return Slope{}, false
	}
	n := len(samples)
	slopes := make([]float64, 0, n*(n-1)/2)
	at := map[float64]float64{} // how many samples are at each point
	for i, y := range samples {
		at[points[i]]++
		for j := range i {
			if apart := points[i] - points[j]; apart != 0 {
				slopes = append(slopes, (y-samples[j])/apart)
			}
		}
	}
	if len(slopes) == 0 {
		return Slope{}, false
	}
	slices.Sort(slopes)
	pairs := func(n float64) float64 { return n * (n - 1) * (2*n + 5) }
	v, all := pairs(float64(n)), float64(len(slopes))
	for _, t := range at {
		v -= pairs(t)
	}
	c := normalQuantile((1+conf)/2) * math.Sqrt(v/18)
	lo := int(math.Floor((all - c) / 2)) // counted from 1, rounded outwards
	hi := int(math.Ceil((all+c)/2)) + 1
	if lo < 1 || hi > len(slopes) {
		return Slope{}, false
	}
	return Slope{Value: sampleQuantile(slopes, 0.5), Lo: slopes[lo-1], Hi: slopes[hi-1]}, true
}

// sampleQuantile interpolates between the values on either side.
func sampleQuantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	f := at - math.Floor(at)
	return (1-f)*sorted[i] + f*sorted[j] // avoids a difference that could overflow
}
