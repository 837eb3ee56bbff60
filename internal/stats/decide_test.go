package stats

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/testkit/must"
)

// Method 5, item 7: Holm.
func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ ps, want []float64 }{
		{[]float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}},
		{[]float64{.03}, []float64{.03}},
		{[]float64{.5, .9, .9}, []float64{1, 1, 1}},
		{[]float64{.02, .02}, []float64{.04, .04}},
		{[]float64{nan, .01, .04}, []float64{nan, .02, .04}},
		{[]float64{0, 1}, []float64{0, 1}},
		{[]float64{}, []float64{}},
	} {
		must.EqualFor(t, c.ps, c.want, Holm(c.ps), cmpopts.EquateApprox(0, 1e-12), cmpopts.EquateNaNs(), cmpopts.EquateEmpty())
	}
}

// The table of the method, 1.8. At n 5 the half-widths are 1.241 sd (95 %) and
// 0.953 sd (90 %); ln 1.05 is 4.88 %.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name   string
		l      LogRatio
		holm   float64 // NaN: l's own p
		margin float64
		want   Answer
	}{
		{"far off", LogRatio{N: 5, Mean: -0.20, SD: 0.02}, math.NaN(), 0.05, Different},
		{"far off, above", LogRatio{N: 5, Mean: 0.20, SD: 0.02}, math.NaN(), 0.05, Different},
		{"real, may exceed the margin", LogRatio{N: 5, Mean: -0.04, SD: 0.02}, math.NaN(), 0.05, Different},
		{"real, within the margin", LogRatio{N: 5, Mean: -0.02, SD: 0.01}, math.NaN(), 0.05, Small},
		{"the same beyond a narrower margin", LogRatio{N: 5, Mean: -0.02, SD: 0.01}, math.NaN(), 0.02, Different},
		{"equivalent", LogRatio{N: 5, Mean: 0.005, SD: 0.02}, math.NaN(), 0.05, Same},
		{"noisy", LogRatio{N: 5, Mean: 0.005, SD: 0.10}, math.NaN(), 0.05, CannotTell},
		{"not after correction", LogRatio{N: 5, Mean: -0.20, SD: 0.10}, 0.06, 0.05, CannotTell},
		{"not after correction, but within", LogRatio{N: 5, Mean: -0.02, SD: 0.01}, 0.06, 0.05, Same},
		{"Holm's p is strict", LogRatio{N: 5, Mean: -0.20, SD: 0.02}, 0.05, 0.05, CannotTell},
		{"p alone is not enough", LogRatio{N: 5, Mean: -0.10, SD: 0.10}, 0.01, 0.05, CannotTell},
		{"identical", LogRatio{N: 3, Mean: 0, SD: 0}, math.NaN(), 0.05, Same},
		{"identical, no margin", LogRatio{N: 3, Mean: 0, SD: 0}, math.NaN(), 0, Same},
		{"constant difference", LogRatio{N: 3, Mean: -0.3, SD: 0}, math.NaN(), 0.05, Different},
		{"two blocks", LogRatio{N: 2, Mean: -0.3, SD: 1e-6}, math.NaN(), 0.05, CannotTell},
		{"one block", LogRatio{N: 1, Mean: -0.3, SD: 0}, 0, 0.05, CannotTell},
		{"nothing", LogRatio{}, 0, 0.05, CannotTell},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.holm
			if math.IsNaN(p) {
				p = c.l.P()
			}
			must.Equal(t, c.want, Decide(c.l, p, c.margin))
		})
	}
	must.Equal(t, CannotTell, Decide(LogRatio{N: 5, Mean: -0.2, SD: 0.02}, math.NaN(), 0.05))
}

// answers simulates sessions of one mode and tells how often each answer came.
func answers(t *testing.T, ratio, sd float64, n int) map[Answer]float64 {
	t.Helper()
	m := newModel(n, sd/math.Sqrt2, 0.06)
	out := map[Answer]float64{}
	for range reps {
		l := m.compare(t, ratio)[0]
		out[Decide(l, l.P(), 0.05)] += 1.0 / reps
	}
	return out
}

// Method 5, item 6, and what the other answers are for.
func TestVerdictRates(t *testing.T) {
	for _, n := range []int{5, 10} {
		for _, sd := range []float64{0.005, 0.02, 0.042} {
			// A mode that sits exactly on the margin is called equivalent in at most
			// 5 % of sessions; in close to 5 % where blocks suffice to call anything so.
			got := answers(t, 1/1.05, sd, n)
			least := 0.04
			if sd > 0.02 && n == 5 {
				least = 0
			}
			name := fmt.Sprintf("on the margin, sd %g, n %d: ", sd, n)
			inRange(t, name+"equivalent", got[Same]+got[Small], least, 0.06)
			inRange(t, name+"same", got[Same], 0, 0.05)
		}
	}
	got := answers(t, 1, 0.02, 5)
	inRange(t, "equal, sd 2 %, n 5: same", got[Same], 0.80, 1)
	inRange(t, "equal, sd 2 %, n 5: a difference", got[Small]+got[Different], 0.04, 0.06)
	inRange(t, "20 % off, sd 2 %, n 5: different", answers(t, 0.8, 0.02, 5)[Different], 0.99, 1)
	inRange(t, "2 % off, sd 0.5 %, n 10: small", answers(t, 0.98, 0.005, 10)[Small], 0.99, 1)
	inRange(t, "equal, sd 20 %, n 4: cannot tell", answers(t, 1, 0.2, 4)[CannotTell], 0.90, 0.97)
}

// Method 5, item 2: identical modes, one or five beside the baseline they share.
func TestFalsePositives(t *testing.T) {
	for _, n := range []int{5, 10} {
		for _, modes := range []int{1, 5} {
			m := newModel(n, 0.03, 0.06)
			ratios := make([]float64, modes)
			for i := range ratios {
				ratios[i] = 1
			}
			var single, family, naive float64
			for range reps {
				ls := m.compare(t, ratios...)
				ps := make([]float64, len(ls))
				for i, l := range ls {
					ps[i] = l.P()
				}
				any, anyNaive := false, false
				for i, p := range Holm(ps) {
					if a := Decide(ls[i], p, 0.05); a == Different || a == Small {
						any = true
						single += 1.0 / reps / float64(modes)
					}
					anyNaive = anyNaive || ps[i] < 0.05
				}
				if any {
					family += 1.0 / reps
				}
				if anyNaive {
					naive += 1.0 / reps
				}
			}
			name := fmt.Sprintf("A/A, n %d, %d modes: ", n, modes)
			if modes == 1 {
				inRange(t, name+"difference claimed", family, 0.04, 0.06)
				continue
			}
			inRange(t, name+"difference claimed of a mode", single, 0.002, 0.02)
			inRange(t, name+"difference claimed of any", family, 0.02, 0.06)
			inRange(t, name+"without Holm", naive, 0.12, 0.25) // the trap is there
		}
	}
}

// String gives the answer in words.
func (a Answer) String() string {
	switch a {
	case CannotTell:
		return "cannot tell"
	case Different:
		return "different"
	case Small:
		return "small"
	case Same:
		return "same"
	}
	return "unknown answer"
}
