package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/testkit/must"
)

// histogramOf puts durations into buckets that are 2.19 % wide.
func histogramOf(durations []float64) Histogram {
	const perOctave = 32
	counts := map[int]int64{}
	for _, d := range durations {
		counts[int(math.Ceil(math.Log2(d)*perOctave))]++
	}
	h := Histogram{Resolution: math.Exp2(1.0/perOctave) - 1}
	var at []int
	for k := range counts {
		at = append(at, k)
	}
	slices.Sort(at)
	for _, k := range at {
		h.Upper, h.Counts = append(h.Upper, math.Exp2(float64(k)/perOctave)), append(h.Counts, counts[k])
	}
	return h
}

// stalledTrial is the round trips of a trial of n requests on a schedule, in s: 20 us and an exponential part. With a mean of
// that many in the trial, nothing is answered for 100 ms, and the requests of that time wait for its end.
func stalledTrial(rng *rand.Rand, n int, stalls float64) []float64 {
	const rate, stall = 1000.0, 0.1
	out := make([]float64, n)
	until := math.Inf(-1)
	for i := range out {
		at := float64(i) / rate
		if rng.Float64() < stalls/float64(n) {
			until = at + stall
		}
		out[i] = 20e-6 + 10e-6*rng.ExpFloat64() + max(0, until-at)
	}
	return out
}

// The intervals of p99.9 and p99.99 contain the quantile of all trials in about 95 % of passes of eight trials, of
// independent round trips and of such that stalls of 100 ms make alike for a while. Those by
// order statistics alone, as if round trips were independent, do not. Of rare stalls most passes have no limit above.
func TestTailQuantileCovers(t *testing.T) {
	const trials, n, passes = 8, 3000, 60
	for _, tt := range []struct {
		name   string
		stalls float64
		q      float64
		least  float64
		known  float64 // of the passes, have a limit above
	}{
		{"independent", 0, 0.99, 0.93, 1},
		{"independent", 0, 0.999, 0.93, 0.9},
		{"a stall in every second trial", 0.5, 0.999, 0.90, 0.2},
		{"three stalls in each trial", 3, 0.99, 0.90, 1},
	} {
		rng := rand.New(rand.NewPCG(36, 3))
		var all []float64
		for range 400 {
			all = append(all, stalledTrial(rng, n, tt.stalls)...)
		}
		slices.Sort(all)
		truth := all[int(tt.q*float64(len(all)))]
		covered, binomial, known := 0, 0, 0
		for range passes {
			clusters := make([]Histogram, trials)
			var pooled []float64
			for i := range clusters {
				one := stalledTrial(rng, n, tt.stalls)
				clusters[i], pooled = histogramOf(one), append(pooled, one...)
			}
			got, ok := TailQuantile(clusters, tt.q, 0.95)
			if !ok || !got.HasInterval {
				continue
			}
			known++
			if got.Lo <= truth && truth <= got.Hi {
				covered++
			}
			if one, ok := TailQuantile([]Histogram{histogramOf(pooled)}, tt.q, 0.95); ok && one.Lo <= truth && truth <= one.Hi {
				binomial++
			}
		}
		share, alone := float64(covered)/float64(known), float64(binomial)/float64(known)
		t.Logf("%s, %g: %d of %d intervals known, %.1f %% cover %.3g s; as independent %.1f %%", tt.name, tt.q, known, passes, 100*share, truth, 100*alone)
		must.True(t, float64(known) >= tt.known*passes && share >= tt.least, "%s, %g: %d of %d intervals known, %.1f %% cover", tt.name, tt.q, known, passes, 100*share)
		must.True(t, tt.stalls <= 0 || alone <= share-0.05, "%s, %g: as independent, %.1f %% cover: no worse", tt.name, tt.q, 100*alone)
	}
}

// With too few durations beyond a quantile there is a value but no interval; exchanges without an answer are longer than all.
func TestTailQuantile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	one := histogramOf(stalledTrial(rng, 3000, 0))
	if got, ok := TailQuantile([]Histogram{one, one}, 0.9999, 0.95); !ok || got.HasInterval || got.N != 6000 {
		t.Errorf("%+v %v", got, ok)
	}
	got, ok := TailQuantile([]Histogram{one, one}, 0.99, 0.95)
	must.True(t, ok && got.HasInterval && got.Lo < got.Value && got.Value < got.Hi && got.Above <= 60, "%+v %v", got, ok)
	// The longest durations are those of one stall, in one of eight trials: how long others are is not known.
	stalled := one
	stalled.Upper, stalled.Counts = append(slices.Clone(one.Upper), 0.2, 0.25, 0.3), append(slices.Clone(one.Counts), 300, 300, 300)
	if got, ok := TailQuantile([]Histogram{one, one, one, one, one, one, one, stalled}, 0.99, 0.95); !ok || got.HasInterval || got.Value != 0.3 {
		t.Errorf("one stall: %+v %v", got, ok)
	}
	lossy := one
	lossy.Beyond = 300
	if got, ok := TailQuantile([]Histogram{lossy, lossy}, 0.99, 0.95); ok {
		t.Errorf("a tenth has no answer, and the 99th percentile is %+v", got)
	}
	for name, bad := range map[string][]Histogram{"none": nil, "negative": {{Upper: []float64{1}, Counts: []int64{-1}}}, "uneven": {{Upper: []float64{1}}}} {
		_, ok := TailQuantile(bad, 0.99, 0.95)
		must.True(t, !ok, "%s: ok", name)
	}
	ratio, lo, hi, ok := RatioOfTails(Tail{Value: 2, Lo: 1, Hi: 3, HasInterval: true}, Tail{Value: 1, Lo: 0.9, Hi: 1.1, HasInterval: true})
	must.True(t, ok && ratio == 2 && lo < 1 && lo > 0.9 && hi > 3 && hi < 3.2, "%v %v %v", ratio, lo, hi)
}
