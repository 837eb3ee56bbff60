package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/testkit/must"
)

// flipsByHand counts all assignments of signs one by one.
func flipsByHand(us []float64) float64 {
	sum := func(signs int) (s float64) {
		for i, u := range us {
			if signs>>i&1 == 1 {
				u = -u
			}
			s += u
		}
		return math.Abs(s)
	}
	far := 0
	for signs := range 1 << len(us) {
		if sum(signs) >= sum(0)-1e-12 {
			far++
		}
	}
	return float64(far) / float64(int(1)<<len(us))
}

func TestSignFlipP(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		us := make([]float64, MinFlips+rng.IntN(6))
		for i := range us {
			us[i] = 0.4 + rng.NormFloat64()
		}
		near(t, "p", SignFlipP(us, nil), flipsByHand(us), 1e-12)
	}
	for _, c := range []struct {
		name   string
		ds     []float64
		setups []int
		want   float64
	}{
		{"seven on one side", []float64{1, 2, 3, 4, 5, 6, 7}, nil, 2.0 / 128},
		{"all equal", []float64{1, 1, 1, 1, 1, 1, 1}, nil, 2.0 / 128},
		{"below 0", []float64{-1, -2, -3, -4, -5, -6, -7}, nil, 2.0 / 128},
		{"one of seven on the other, the smallest", []float64{-1, 2, 3, 4, 5, 6, 7}, nil, 4.0 / 128},
		{"no difference", make([]float64, 7), nil, 1},
		{"symmetric", []float64{1, -1, 2, -2, 3, -3, 0}, nil, 1},
		{"too few", []float64{1, 2, 3, 4, 5, 6}, nil, math.NaN()},
		{"seven set-ups of two", []float64{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}, []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}, 2.0 / 128},
		{"three set-ups", []float64{1, 1, 2, 2, 3, 3, 4}, []int{1, 1, 2, 2, 3, 3, 3}, math.NaN()},
		{"another number of set-ups", []float64{1, 2, 3, 4, 5, 6, 7}, []int{1}, math.NaN()},
		{"not finite", []float64{1, 2, 3, 4, 5, 6, math.Inf(1)}, nil, math.NaN()},
		{"too many", make([]float64, MaxFlips+1), nil, math.NaN()},
	} {
		near(t, c.name, SignFlipP(c.ds, c.setups), c.want, 1e-12)
	}
	most := make([]float64, MaxFlips)
	for i := range most {
		most[i] = float64(i + 1)
	}
	near(t, "thirty on one side", SignFlipP(most, nil), math.Pow(2, 1-MaxFlips), 1e-15)
}

// Both tests together call equal modes different in no more than 5 % of runs, also with heavy tails, and find nearly what
// the t test finds.
func TestBothTests(t *testing.T) {
	const runs = 4000
	for _, noise := range []struct {
		name string
		draw func(*rand.Rand) float64
	}{{"normal", (*rand.Rand).NormFloat64}, {"heavy tails", heavy}} {
		for _, n := range []int{7, 8, 10, 15} {
			rng := rand.New(rand.NewPCG(5, uint64(n)))
			// The t test finds this in about 80 % of runs.
			effect := (TQuantile(0.975, float64(n-1)) + TQuantile(0.80, float64(n-1))) / math.Sqrt(float64(n))
			shown := func(by float64) (student, both float64) {
				ds := make([]float64, n)
				both = share(runs, func() bool {
					for i := range ds {
						ds[i] = by + noise.draw(rng)
					}
					if MeanZeroP(ds) >= 0.05 {
						return false
					}
					student += 1.0 / runs
					return SignFlipP(ds, nil) < 0.05
				})
				return student, both
			}
			_, wrong := shown(0)
			student, found := shown(effect)
			t.Logf("%s, n %d: wrong %.3f, found %.3f, by t alone %.3f", noise.name, n, wrong, found, student)
			must.True(t, wrong <= 0.055 && found >= student-0.06,
				"%s, n %d: both tests call %.1f %% of equal modes different, and find %.1f %% where the t test finds %.1f %%", noise.name, n, 100*wrong, 100*found, 100*student)
		}
	}
}
