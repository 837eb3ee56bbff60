package stats

import (
	"fmt"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// Method 5, item 1: own noise 3 %, shared block noise none or 6 %, true ratio 0.8.
func TestCoverage(t *testing.T) {
	const ratio = 0.8
	for _, shared := range []float64{0, 0.06} {
		for _, n := range []int{4, 5, 8, 10} {
			m := newModel(n, 0.03, shared)
			hits90 := 0.0
			hits := share(reps, func() bool {
				l := m.compare(t, ratio)[0]
				if covers(l, 0.90, ratio) {
					hits90 += 1.0 / reps
				}
				return covers(l, 0.95, ratio)
			})
			name := fmt.Sprintf("coverage at n %d, shared noise %g", n, shared)
			inRange(t, name, hits, 0.94, 0.96)
			if n == 5 { // of the other confidences one will do
				inRange(t, name+", 90 %", hits90, 0.886, 0.914)
			}
		}
	}
}

// Method 5, item 1: the unpaired interval, without shared noise and with more noise
// on one side; and what they would lose by leaving pairs alone. Satterthwaite's
// approximation errs on the safe side with few values: up to 96 % where 95 is said.
func TestCoverageUnpaired(t *testing.T) {
	const ratio = 0.8
	for _, n := range []int{4, 5, 8, 10} {
		m := newModel(n, 0.03, 0)
		hits := share(reps, func() bool {
			base, modes := m.session(ratio)
			return covers(must.Get(Unpaired(modes[0], base, nil, nil))(t), 0.95, ratio)
		})
		inRange(t, fmt.Sprintf("Welch-log coverage at n %d", n), hits, 0.94, 0.965)
	}
	rng := rand.New(rand.NewPCG(1, 4))
	hits := share(reps, func() bool { // 12 values with 2 % of noise against 6 with 6 %
		x, b := make([]float64, 12), make([]float64, 6)
		for i := range x {
			x[i] = ratio * math.Exp(0.02*rng.NormFloat64())
		}
		for i := range b {
			b[i] = math.Exp(0.06 * rng.NormFloat64())
		}
		return covers(must.Get(Unpaired(x, b, nil, nil))(t), 0.95, ratio)
	})
	inRange(t, "Welch-log coverage, unlike sides", hits, 0.94, 0.96)

	// Shared noise is what pairs are for: half-widths of 5.0 % against 9.5 %.
	m := newModel(5, 0.03, 0.06)
	var paired, apart float64
	for range reps {
		base, modes := m.session(ratio)
		p := must.Get(Paired(modes[0], base))(t)
		u := must.Get(Unpaired(modes[0], base, nil, nil))(t)
		paired, apart = paired+p.HalfWidth(0.95)/reps, apart+u.HalfWidth(0.95)/reps
	}
	inRange(t, "half-width paired", paired, 0.047, 0.053)
	inRange(t, "half-width unpaired", apart, 0.088, 0.102)
}

// Method 5, item 1: why there is no percentile bootstrap here. Of intervals that say
// 95 % it covers 79, 87 and 91 % with 3, 5 and 10 trials.
func TestPercentileBootstrapIsBad(t *testing.T) {
	const ratio, sessions, resamples = 0.8, 2000, 400
	for n, want := range map[int]float64{3: 0.79, 5: 0.87, 10: 0.91} {
		m := newModel(n, 0.03, 0)
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		ratios := make([]float64, resamples)
		hits := share(sessions, func() bool {
			base, modes := m.session(ratio)
			for i := range ratios {
				var x, b float64
				for range n {
					x += modes[0][rng.IntN(n)]
					b += base[rng.IntN(n)]
				}
				ratios[i] = x / b
			}
			slices.Sort(ratios)
			return sampleQuantile(ratios, 0.025) <= ratio && ratio <= sampleQuantile(ratios, 0.975)
		})
		inRange(t, fmt.Sprintf("percentile bootstrap, n %d", n), hits, want-0.03, want+0.03)
	}
}

// Method 5, item 1: and that it is absent. Nothing in this package but its tests
// draws random numbers, so nothing resamples.
func TestNothingResamples(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must.Require(t, err == nil && len(files) >= 10, "%v %v", files, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly))(t)
		for _, i := range f.Imports {
			must.True(t, !strings.Contains(i.Path.Value, "rand"), "%s imports %s", name, i.Path.Value)
		}
	}
}
