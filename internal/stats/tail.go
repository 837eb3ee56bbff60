package stats

import (
	"math"
	"slices"
)

// Histogram is the durations of one cluster, such as the trials of one set-up: Counts[i] of them are at most Upper[i] and
// more than Upper[i-1], and at most Resolution, relative, below Upper[i]. Beyond is how many more were longer
// than any of them, such as exchanges without an answer. Upper rises.
type Histogram struct {
	Upper      []float64
	Counts     []int64
	Resolution float64
	Beyond     int64
}

// Tail is a quantile of pooled durations with its interval. HasInterval is false if so few durations
// lie beyond it that no upper limit is known; Lo and Hi are then 0.
type Tail struct {
	Value, Lo, Hi float64
	HasInterval   bool
	N, Above      int64 // durations, and those longer than Value
}

// TailQuantile is the quantile q, 0.5 < q < 1, of the durations of all clusters together, with its interval at confidence
// conf: all durations x at which the share that is longer can be 1-q, by [ShareInterval] over the clusters (the
// interval of Woodruff, J. Am. Stat. Assoc. 47, 1952). Of independent durations it is that by order
// statistics, which is binomial; where clusters differ, as with stalls, it is wider. Where nothing is longer
// than x, the one-sided limit has confidence (1+conf)/2, for the effective number of durations. Value and Hi are bounds of buckets, Lo is below one by the resolution.
// ok is false without durations, for impossible counts, and if the quantile is beyond the buckets.
func TailQuantile(clusters []Histogram, q, conf float64) (t Tail, ok bool) {
	var bounds []float64
	finest := math.Inf(1)
	for _, c := range clusters {
		if len(c.Upper) != len(c.Counts) || c.Beyond < 0 || slices.Min(append([]int64{0}, c.Counts...)) < 0 {
			return Tail{}, false
		}
		bounds = append(bounds, c.Upper...)
		finest = min(finest, c.Resolution)
	}
	if len(bounds) == 0 || !(q > 0.5 && q < 1) {
		return Tail{}, false
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	longer := make([]Counted, len(clusters)) // than the current bound
	next := make([]int, len(clusters))
	for i, c := range clusters {
		longer[i].N = c.Beyond
		for _, n := range c.Counts {
			longer[i].N += n
		}
		longer[i].K = longer[i].N
		t.N += longer[i].N
	}
	beyond := 1 - q
	first, last, unlimited := -1, -1, false
	effect := 1.0 // of the clusters, from the last bound below the quantile on
	for b, x := range bounds {
		var above int64
		for i, c := range clusters {
			for next[i] < len(c.Upper) && c.Upper[next[i]] <= x {
				longer[i].K -= c.Counts[next[i]]
				next[i]++
			}
			above += longer[i].K
		}
		d := designEffect(longer, above, t.N)
		switch below := float64(above) > beyond*float64(t.N); {
		case ok:
			effect = max(effect, d)
		case below:
			effect = d
		default:
			t.Value, t.Above, ok = x, above, true
			effect = max(effect, d)
		}
		if mayBe(longer, above, t.N, effect, beyond, conf) {
			if first < 0 {
				first = b
			}
			last, unlimited = b, b == len(bounds)-1
		} else if first < 0 && ok {
			first, last = b, b // between two bounds
		}
	}
	if !ok || first < 0 || unlimited {
		return t, ok
	}
	// Up to the next bound at which a duration was seen, the share does not change.
	t.Lo, t.Hi, t.HasInterval = bounds[first]/(1+finest), bounds[min(last+1, len(bounds)-1)], true
	return t, true
}

// designEffect is by how much the variance of a share, which K are of N, is larger than if all N were independent (Kish, Survey
// Sampling, 1965), at least 1.
func designEffect(longer []Counted, above, n int64) float64 {
	m, squares, share := 0.0, 0.0, float64(above)/float64(n)
	for _, c := range longer {
		d := float64(c.K) - share*float64(c.N)
		squares += d * d
		m++
	}
	if independent := float64(n) * share * (1 - share); m > 1 && independent > 0 {
		return max(1, squares*m/(m-1)/independent)
	}
	return 1
}

// mayBe reports whether the share that is longer can be beyond. Where none is longer, effect is how many durations of these
// clusters tell as much as an independent one (Korn and Graubard, Survey Methodology 24, 1998).
func mayBe(longer []Counted, above, n int64, effect, beyond, conf float64) bool {
	if above == 0 {
		hi, ok := ClopperPearsonUpper(0, max(1, int(float64(n)/effect)), (1+conf)/2)
		return ok && beyond <= hi
	}
	_, lo, hi, ok := ShareInterval(longer, conf)
	return ok && lo <= beyond && beyond <= hi
}

// RatioOfTails is the interval of Value(x)/Value(b) from the intervals of both at the same confidence, by the method of variance
// estimates recovery on logarithms (Zou and Donner, Statist. Med. 27, 2008): it needs no normal spread, and takes both as
// independent, which makes it wider where what disturbs one disturbs the other. ok is false unless both have
// intervals above 0.
func RatioOfTails(x, b Tail) (ratio, lo, hi float64, ok bool) {
	if !x.HasInterval || !b.HasInterval || !(x.Lo > 0 && b.Lo > 0) {
		return 0, 0, 0, false
	}
	l := math.Log(x.Value / b.Value)
	down := math.Hypot(math.Log(x.Value/x.Lo), math.Log(b.Hi/b.Value))
	up := math.Hypot(math.Log(x.Hi/x.Value), math.Log(b.Value/b.Lo))
	return math.Exp(l), math.Exp(l - down), math.Exp(l + up), true
}
