package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/internal/testkit/must"
)

// heavy draws from Student's t with TailDF degrees of freedom and a standard deviation of 1.
func heavy(r *rand.Rand) float64 {
	chi := 0.0
	for range TailDF {
		z := r.NormFloat64()
		chi += z * z
	}
	return r.NormFloat64() / math.Sqrt(chi/TailDF) / math.Sqrt(TailDF/(TailDF-2.0))
}

func TestHeavyTail(t *testing.T) {
	scale := math.Sqrt((TailDF - 2.0) / TailDF)
	for _, x := range []float64{-3, 0, 0.5, 1, 3, 6} {
		near(t, "tail", heavyTail(x), 1-distuv.StudentsT{Sigma: scale, Nu: TailDF}.CDF(x), 1e-9)
	}
}

// With a known mean and spread, the p value is that of so many values in a row, and each one more makes it smaller by as much
// as one value does.
func TestSameSideOfAKnownDistribution(t *testing.T) {
	for k := 1; k <= 3; k++ {
		near(t, "p", SameSideP(2, k, 1e9, 1e7, 1), 2*math.Pow(heavyTail(2), float64(k)), 1e-3*math.Pow(heavyTail(2), float64(k)))
	}
	near(t, "wider", SameSideP(3, 1, 1e9, 1e7, 1.5), 2*heavyTail(2), 1e-5)
	for _, p := range []float64{
		SameSideP(-1, 1, 5, 4, 1), SameSideP(math.NaN(), 1, 5, 4, 1), SameSideP(1, 0, 5, 4, 1), SameSideP(1, 1, 0, 4, 1), SameSideP(1, 1, 5, 0, 1), SameSideP(1, 1, 5, 4, 0.5),
		SameSideDistance(0, 1, 5, 4, 1), SameSideDistance(1, 1, 5, 4, 1), SameSideDistance(0.01, 1, 5, 4, 0),
	} {
		must.True(t, math.IsNaN(p), "%g instead of no value", p)
	}
	d := SameSideDistance(0.001, 2, 10, 9, 1)
	near(t, "p at its distance", SameSideP(d, 2, 10, 9, 1), 0.001, 1e-5)
}

// Further values of the same distribution, however heavy its tails, are called others about as often as the p
// value says, and a single one by the t test several times as often.
func TestSameSideHolds(t *testing.T) {
	const draws, level = 200_000, 0.002
	for _, n := range []int{6, 12, 19} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		student := TQuantile(1-level/2, float64(n-1)) * math.Sqrt(1+1/float64(n))
		var critical [4]float64
		var found [4]int // by how many further values there are
		byStudent := 0
		for k := 1; k <= 3; k++ {
			critical[k] = SameSideDistance(level, k, n, float64(n-1), 1)
		}
		xs := make([]float64, n)
		for range draws {
			for i := range xs {
				xs[i] = heavy(rng)
			}
			mean, sd := meanSD(xs)
			least, most := math.Inf(1), math.Inf(-1)
			for k := 1; k <= 3; k++ {
				y := (heavy(rng) - mean) / sd
				least, most = min(least, y), max(most, y)
				if least > critical[k] || most < -critical[k] {
					found[k]++
				}
				if k == 1 && math.Abs(y) > student {
					byStudent++
				}
			}
		}
		for k := 1; k <= 3; k++ {
			inRange(t, fmt.Sprintf("n %d, k %d", n, k), float64(found[k])/draws, level/2, 2*level)
		}
		if n > 6 { // where the t test shows that tails matter
			inRange(t, fmt.Sprintf("n %d, by the t test", n), float64(byStudent)/draws, 2*level, 1)
		}
	}
}
