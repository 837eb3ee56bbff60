package stats

import (
	"fmt"
	"math"
)

// PairedBySetup is [Paired] for pairs of which some were measured on one set-up of the mode and of
// its baseline: setups[i] names that of pair i, by any number; nil if each has its own. What a
// set-up draws at random, such as where the kernel put its memory, is the same in all its pairs, so
// that the set-up is the replicate and not the pair. Mean is that of [Paired]. SD is the standard error times sqrt N, and
// DF its degrees of freedom: see [groupedMean]. With a set-up for each pair it is [Paired]. With
// one set-up for all pairs nothing is known of other set-ups: then the result is that of [Paired],
// valid for this set-up alone. Errors: those of Paired, and another number of set-ups.
func PairedBySetup(x, b []float64, setups []int) (LogRatio, error) {
	ds, err := Differences(x, b)
	if err != nil {
		return LogRatio{}, err
	}
	if setups != nil && len(setups) != len(ds) {
		return LogRatio{}, fmt.Errorf("pair values with their baseline: %d pairs, and set-ups of %d", len(ds), len(setups))
	}
	return LevelBySetup(ds, setups), nil
}

// LevelBySetup summarises one or more log ratios, or other values with a mean, as [PairedBySetup] does; setups are nil or of as many.
func LevelBySetup(ds []float64, setups []int) LogRatio {
	mean, sd := meanSD(ds)
	l := LogRatio{N: len(ds), Mean: mean, SD: sd}
	g := groupedMean(ds, setups)
	if g.groups < len(ds) {
		l.Setups = g.groups
	}
	if g.shared() {
		l.SD, l.DF = g.se*math.Sqrt(float64(l.N)), g.df
	}
	return l
}

// MeanIntervalBySetup is [MeanInterval] for values of which some were measured on one set-up, as of
// [PairedBySetup]. Errors: those of MeanInterval, and another number of set-ups.
func MeanIntervalBySetup(xs []float64, setups []int, conf float64) (Estimate, error) {
	if setups != nil && len(setups) != len(xs) {
		return Estimate{}, fmt.Errorf("arithmetic mean: %d values, and set-ups of %d", len(xs), len(setups))
	}
	e, err := MeanInterval(xs, conf)
	if g := groupedMean(xs, setups); err == nil && g.shared() {
		h := TQuantile((1+conf)/2, g.df) * g.se
		e.Lo, e.Hi = e.Value-h, e.Value+h
	}
	return e, err
}

// GeoMeanIntervalBySetup is [GeoMeanInterval] in the same way. Errors: those of GeoMeanInterval, and
// another number of set-ups.
func GeoMeanIntervalBySetup(xs []float64, setups []int, conf float64) (Estimate, error) {
	lx, err := logs(xs)
	if err != nil {
		return Estimate{}, fmt.Errorf("geometric mean: %w", err)
	}
	e, err := MeanIntervalBySetup(lx, setups, conf)
	if err != nil {
		return Estimate{}, err
	}
	e.Value = math.Exp(e.Value)
	if e.HasInterval {
		e.Lo, e.Hi = math.Exp(e.Lo), math.Exp(e.Hi)
	}
	return e, nil
}

// MeanDifference is the mean of x less that of b, of values that share no blocks, with Welch's
// interval: see [Unpaired], which has the degrees of freedom, here of the values themselves, each
// side's by its set-ups as of [PairedBySetup]. N is the smaller number of values. A side with one
// value has no known spread, and then there is no interval. Errors: those of MeanInterval, for
// either side, and another number of set-ups.
func MeanDifference(x, b []float64, xSetups, bSetups []int, conf float64) (Estimate, error) {
	for _, side := range [][]float64{x, b} {
		if err := check(side, conf); err != nil {
			return Estimate{}, fmt.Errorf("difference of means: %w", err)
		}
	}
	if xSetups != nil && len(xSetups) != len(x) || bSetups != nil && len(bSetups) != len(b) {
		return Estimate{}, fmt.Errorf("difference of means: %d and %d values, and set-ups of %d and %d", len(x), len(b), len(xSetups), len(bSetups))
	}
	gx, gb := groupedMean(x, xSetups), groupedMean(b, bSetups)
	e := Estimate{N: min(len(x), len(b)), Value: gx.mean - gb.mean}
	if e.N < 2 {
		return e, nil
	}
	se, df := math.Hypot(gx.se, gb.se), gx.df+gb.df
	if se > 0 {
		df = satterthwaite(gx.se/se, gx.df, gb.df)
	}
	h := TQuantile((1+conf)/2, df) * se
	e.Lo, e.Hi, e.HasInterval = e.Value-h, e.Value+h, true
	return e, nil
}

// MeanZeroPBySetup is [MeanZeroP] in the same way.
func MeanZeroPBySetup(xs []float64, setups []int) float64 {
	g := groupedMean(xs, setups)
	if !g.shared() || g.se == 0 {
		return MeanZeroP(xs)
	}
	return TTwoSidedP(g.mean/g.se, g.df)
}

// grouped is the mean of values in groups, its standard error and the degrees of freedom of that.
// Where each value has its own group, or all have one, these are those of the plain mean.
type grouped struct {
	mean, se, df float64
	n, groups    int
}

// shared reports whether groups, and not values, are the replicates.
func (g grouped) shared() bool { return g.groups > 1 && g.groups < g.n }

// groupedMean is the mean of n values in k groups, with its standard error and degrees of
// freedom, where the values of a group share a random level. With p_s the share of group s and
// u_s = n_s (mean of s - mean of all), the variance is
//
//	V = c / n^2  sum u_s^2 / (1 - p_s)
//
// the cluster-robust variance CR2 of a mean (Bell, McCaffrey, Survey Methodology 28, 2002), which
// is unbiased if values are independent. If nothing but the level of the group varies it is too
// small where groups differ in size, by at most a few percent: c corrects that. The degrees of
// freedom are Satterthwaite's, 2 E[V]^2 / Var[V], the smaller one of those if values are
// independent and if nothing but the level varies. With equal groups c is 1, V is the variance of
// the groups' means over k, and the degrees of freedom are k-1.
func groupedMean(xs []float64, groups []int) grouped {
	n := float64(len(xs))
	mean, sd := meanSD(xs)
	if groups == nil {
		return grouped{mean: mean, se: sd / math.Sqrt(n), df: n - 1, n: len(xs), groups: len(xs)}
	}
	at := map[int]int{}
	var size, u []float64
	for i, x := range xs {
		s, known := at[groups[i]]
		if !known {
			s = len(size)
			at[groups[i]] = s
			size, u = append(size, 0), append(u, 0)
		}
		size[s]++
		u[s] += x - mean
	}
	out := grouped{mean: mean, se: sd / math.Sqrt(n), df: n - 1, n: len(xs), groups: len(size)}
	if !out.shared() {
		return out
	}
	df, scale := groupedDF(size)
	v := 0.0
	for s := range size {
		v += u[s] * u[s] / ((1 - size[s]/n) * n * n)
	}
	out.se, out.df = math.Sqrt(v*scale), df
	return out
}

// groupedDF is the degrees of freedom of [groupedMean] for groups of these sizes, and c there.
func groupedDF(size []float64) (df, scale float64) {
	n := 0.0
	for _, m := range size {
		n += m
	}
	squares := 0.0
	weight := make([]float64, len(size))
	for s, m := range size {
		p := m / n
		weight[s] = 1 / ((1 - p) * n * n)
		squares += p * p
	}
	// The covariances of the u_s, if values are independent, and if only the level of a group varies.
	independent := func(s, t int) float64 { return -size[s] * size[t] / n }
	level := func(s, t int) float64 { return size[s] * size[t] * (squares - (size[s]+size[t])/n) }
	expected := func(between func(s, t int) float64, own func(s int) float64) (mean, df float64) {
		var spread float64
		for s := range size {
			for t := range size {
				c := between(s, t)
				if s == t {
					c += own(s)
					mean += weight[s] * c
				}
				spread += weight[s] * weight[t] * c * c
			}
		}
		return mean, mean * mean / spread
	}
	_, plain := expected(independent, func(s int) float64 { return size[s] })
	found, fewer := expected(level, func(s int) float64 { return size[s] * size[s] })
	return min(plain, fewer), max(1, squares/found)
}

// SetupWidth is how much wider the 95 % interval of [PairedBySetup] is for pairs of which those of one set-up are as many as sizes
// say than it would be with a set-up for each pair: least times if nothing varies between set-ups, most times if
// nothing else varies. df are its degrees of freedom. ok is false with fewer than two set-ups.
func SetupWidth(sizes []int) (df, least, most float64, ok bool) {
	var size []float64
	n, squares := 0.0, 0.0
	for _, m := range sizes {
		size = append(size, float64(m))
		n, squares = n+float64(m), squares+float64(m)*float64(m)
	}
	if len(sizes) < 2 {
		return 0, 0, 0, false
	}
	df, _ = groupedDF(size)
	least = TQuantile(0.975, df) / TQuantile(0.975, n-1)
	return df, least, least * math.Sqrt(squares/n), true
}

// MeanCovariance is the covariance of the means of x and of y, both over the same replicates, with its degrees of freedom; that of a
// mean with itself is its squared standard error. setups are as of [PairedBySetup], of as many values as x and y
// have. It is a bilinear form, so that of a sum of values follows from those of its terms.
func MeanCovariance(x, y []float64, setups []int) (covariance, df float64) {
	// 4 cov(x, y) = var(x + y) - var(x - y)
	sum, difference := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		sum[i], difference[i] = x[i]+y[i], x[i]-y[i]
	}
	a, b := groupedMean(sum, setups), groupedMean(difference, setups)
	return (a.se*a.se - b.se*b.se) / 4, a.df
}
