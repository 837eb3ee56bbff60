package result

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/testkit/must"
)

// drawn are durations about a median, in seconds, with a long tail.
func drawn(rnd *rand.Rand, n int, median, spread float64) (all []float64, counted map[float64]int64) {
	counted = map[float64]int64{}
	for range n {
		d := median * math.Exp(spread*rnd.NormFloat64())
		all = append(all, d)
		counted[d]++
	}
	slices.Sort(all)
	return all, counted
}

// Whatever the durations are, a distribution has all of them, keeps each quantile within
// its resolution, holds no more than so many buckets and reads back as it was.
func TestDistribute(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		median, spread, resolution float64
	}{{2e-5, 0.2, 0.0219}, {1e-6, 0.4, 0.0219}, {3e-3, 1.5, 0.0905}, {1, 9, 1}} {
		all, counted := drawn(rnd, 20000, c.median, c.spread)
		d := Distribute("rtt", counted)
		if d.Of != "rtt" || d.Resolution != c.resolution || d.Count() != 20000 || len(d.Upper) > mostBuckets || len(d.Upper) < mostBuckets/4 {
			t.Fatalf("%s, resolution %g of %d buckets, %g in them", d.Of, d.Resolution, len(d.Upper), d.Count())
		}
		for _, q := range []float64{0, 0.001, 0.5, 0.9, 0.999, 1} {
			exact := all[max(0, int(math.Ceil(q*20000))-1)]
			if got := d.Quantile(q); got < exact || got > exact*(1+d.Resolution)*1.001 {
				t.Errorf("median %g: quantile %g is %g, want %g", c.median, q, got, exact)
			}
		}
		text := must.Get(json.Marshal(d))(t)
		must.True(t, len(text) <= 3000, "%d bytes", len(text))
		var back Distribution
		must.Do(t, json.Unmarshal(text, &back))
		must.Equal(t, *d, back)
		// Put in again, it is itself.
		again := map[float64]int64{}
		for i, u := range d.Upper {
			again[u] = d.Counts[i]
		}
		if got := Distribute("rtt", again); !slices.Equal(got.Upper, d.Upper) || !slices.Equal(got.Counts, d.Counts) {
			t.Errorf("median %g: put in again it is %v, was %v", c.median, got.Upper, d.Upper)
		}
	}
	for _, none := range []map[float64]int64{nil, {1: 0}, {0: 5, -1: 5, math.Inf(1): 5, math.NaN(): 5}} {
		if d := Distribute("rtt", none); d != nil {
			t.Errorf("%v: %+v", none, d)
		}
	}
}

// A distribution that somebody edited is none.
func TestBrokenDistribution(t *testing.T) {
	for _, d := range []Distribution{{}, {Upper: []float64{1}}, {Upper: []float64{2, 1}, Counts: []int64{1, 1}}, {Upper: []float64{1}, Counts: []int64{-1}}, {Upper: []float64{-1}, Counts: []int64{1}}} {
		if d.Count() != 0 || d.Quantile(0.5) != 0 {
			t.Errorf("%+v: %g", d, d.Count())
		}
	}
}
