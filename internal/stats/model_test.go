package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/testkit/must"
)

const reps = 4000 // a true 95 % then lands within 94..96 (3 sigma)

// model makes the trials of one simulated session: every mode once a block, with
// log-normal noise of its own and noise that all trials of a block share.
type model struct {
	rng    *rand.Rand
	blocks int
	own    float64 // sd of ln x
	shared float64 // sd of ln x
}

func newModel(blocks int, own, shared float64) model {
	// A stream for each setting: with a common one the settings would share their
	// luck and confirm each other for nothing.
	rng := rand.New(rand.NewPCG(uint64(blocks), math.Float64bits(own)^math.Float64bits(shared)))
	return model{rng, blocks, own, shared}
}

// session gives the trials of a baseline and of modes with these true ratios.
func (m model) session(ratios ...float64) (base []float64, modes [][]float64) {
	modes = make([][]float64, len(ratios))
	for range m.blocks {
		level := math.Log(9.4e9) + m.shared*m.rng.NormFloat64()
		base = append(base, math.Exp(level+m.own*m.rng.NormFloat64()))
		for i, r := range ratios {
			modes[i] = append(modes[i], r*math.Exp(level+m.own*m.rng.NormFloat64()))
		}
	}
	return base, modes
}

// compare simulates a session and compares each of its modes with the baseline.
func (m model) compare(t *testing.T, ratios ...float64) []LogRatio {
	t.Helper()
	base, modes := m.session(ratios...)
	out := make([]LogRatio, len(modes))
	for i, x := range modes {
		out[i] = must.Get(Paired(x, base))(t)
	}
	return out
}

// inRange fails the test unless lo <= got <= hi. With -v it tells what was
// measured.
func inRange(t *testing.T, what string, got, lo, hi float64) {
	t.Helper()
	t.Logf("%s: %.4f", what, got)
	must.True(t, got >= lo && got <= hi, "%s: %.4f, want %g to %g", what, got, lo, hi)
}

// share is in which part of some runs something holds.
func share(runs int, holds func() bool) float64 {
	n := 0
	for range runs {
		if holds() {
			n++
		}
	}
	return float64(n) / float64(runs)
}

// covers says whether the interval at confidence conf contains a ratio.
func covers(l LogRatio, conf, ratio float64) bool {
	lo, hi, ok := l.Interval(conf)
	return ok && lo <= ratio && ratio <= hi
}

// near fails the test unless got is within tol of want, or both are not a number.
func near(t must.TB, what string, got, want, tol float64) {
	t.Helper()
	must.True(t, math.Abs(got-want) <= tol || math.IsNaN(got) && math.IsNaN(want), "%s: %.10g, want %.10g within %g", what, got, want, tol)
}
