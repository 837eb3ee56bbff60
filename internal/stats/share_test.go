package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// None of n is at most 1 - 0.05^(1/n), and of independent attempts the interval is at least that of Clopper and Pearson.
func TestShareInterval(t *testing.T) {
	v, lo, hi, ok := ShareInterval([]Counted{{0, 60000}, {0, 60000}, {0, 0}}, 0.95)
	if want := 1 - math.Pow(0.05, 1.0/120000); !ok || v != 0 || lo != 0 || math.Abs(hi-want) > 1e-12 {
		t.Errorf("%v %v %v %v, want at most %v", v, lo, hi, ok, want)
	}
	even := []Counted{{10, 1000}, {10, 1000}, {10, 1000}, {10, 1000}}
	cl, ch, _ := ClopperPearson(40, 4000, 0.95)
	if v, lo, hi, ok := ShareInterval(even, 0.95); !ok || v != 0.01 || lo != cl || hi != ch {
		t.Errorf("clusters alike: %v %v %v", v, lo, hi)
	}
	burst := []Counted{{40, 1000}, {0, 1000}, {0, 1000}, {0, 1000}}
	if _, lo, hi, ok := ShareInterval(burst, 0.95); !ok || lo != 0 || hi < 2*ch {
		t.Errorf("one burst: %v to %v, of even clusters %v to %v", lo, hi, cl, ch)
	}
	if _, lo, hi, ok := ShareInterval([]Counted{{40, 4000}}, 0.95); !ok || lo != cl || hi != ch {
		t.Errorf("one cluster: %v %v", lo, hi)
	}
	// Of rare events, the limits are those of a Poisson count.
	if _, lo, hi, ok := ShareInterval([]Counted{{12, 1e6}}, 0.95); !ok || math.Abs(lo*1e6-6.2006) > 0.01 || math.Abs(hi*1e6-20.9616) > 0.01 {
		t.Errorf("12 of 1,000,000: %v to %v", lo, hi)
	}
	for _, bad := range [][]Counted{nil, {{0, 0}}, {{2, 1}}, {{-1, 5}}, {{0, math.MaxInt64}, {0, 5}}} {
		if _, _, _, ok := ShareInterval(bad, 0.95); ok {
			t.Errorf("%v has an interval", bad)
		}
	}
}

// Where the share of failures differs between set-ups, by a factor of 3 up or down, 95 % of the intervals have the true share;
// those for independent attempts do not.
func TestShareIntervalCovers(t *testing.T) {
	const runs, attempts = 3000, 5000
	rng := rand.New(rand.NewPCG(36, 2))
	for _, m := range []int{7, 12, 30} {
		covered, independent := 0, 0
		truth := 0.004
		for range runs {
			clusters := make([]Counted, m)
			var k int64
			for i := range clusters {
				// Log-normal with that mean.
				const s = 0.7
				p := truth * math.Exp(s*rng.NormFloat64()-s*s/2)
				clusters[i] = Counted{poisson(rng, p*attempts), attempts}
				k += clusters[i].K
			}
			if _, lo, hi, ok := ShareInterval(clusters, 0.95); ok && lo <= truth && truth <= hi {
				covered++
			}
			if lo, hi, ok := ClopperPearson(int(k), m*attempts, 0.95); ok && lo <= truth && truth <= hi {
				independent++
			}
		}
		// A skewed distribution of few set-ups costs some of it.
		if got := float64(covered) / runs; got < 0.92 {
			t.Errorf("%d set-ups: %.1f %% cover", m, 100*got)
		} else if was := float64(independent) / runs; was > got-0.2 {
			t.Errorf("%d set-ups: %.1f %% cover, of independent attempts %.1f %%", m, 100*got, 100*was)
		} else {
			t.Logf("%d set-ups: %.1f %% cover, as independent attempts %.1f %%", m, 100*got, 100*was)
		}
	}
}

func poisson(rng *rand.Rand, mean float64) (n int64) {
	for p := rng.Float64(); p > math.Exp(-mean); n++ {
		p *= rng.Float64()
	}
	return n
}
