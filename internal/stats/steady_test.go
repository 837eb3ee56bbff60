package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/testkit/must"
)

// simulated is a series of samples: level(i) times noise of relative sd, AR(1) with phi = 0.3.
func simulated(rng *rand.Rand, n int, sd float64, level func(i int) float64) []float64 {
	const phi = 0.3
	out := make([]float64, n)
	e := rng.NormFloat64()
	for i := range out {
		out[i] = level(i) * (1 + sd*e)
		e = phi*e + math.Sqrt(1-phi*phi)*rng.NormFloat64()
	}
	return out
}

// steadyRates is how a pilot trial of 30 s in samples of 0.5 s is judged.
type steadyRates struct {
	cut                 float64 // median, seconds
	unsettled, drifting float64
	uncut, kept         float64 // bias of the mean of all samples and of those kept
}

func rates(sd, truth float64, level func(i int) float64) steadyRates {
	rng := rand.New(rand.NewPCG(8, math.Float64bits(sd)^math.Float64bits(level(40))))
	var r steadyRates
	cuts := make([]float64, reps)
	for i := range cuts {
		xs := simulated(rng, 60, sd, level)
		s := SteadyState(xs, 2)
		all, _ := meanSD(xs)
		cuts[i] = float64(s.Cut) * 0.5
		r.uncut += (all/truth - 1) / reps
		r.kept += (s.Mean/truth - 1) / reps
		if s.Unsettled {
			r.unsettled += 1.0 / reps
		}
		if s.Drifting {
			r.drifting += 1.0 / reps
		}
	}
	slices.Sort(cuts)
	r.cut = sampleQuantile(cuts, 0.5)
	return r
}

func flat(int) float64 { return 1 }

// Method 5, item 8: 30 s in samples of 0.5 s.
func TestSteadyState(t *testing.T) {
	got := rates(0.02, 1, flat)
	inRange(t, "flat: median cut", got.cut, 0, 0)
	inRange(t, "flat: unsettled", got.unsettled, 0, 0.03)
	inRange(t, "flat: drifting", got.drifting, 0, 0.03)
	inRange(t, "flat: bias", got.kept, -0.001, 0.001)

	got = rates(0.02, 1, func(i int) float64 { return 1 - 0.3*math.Exp(-float64(i)*0.5/3) })
	inRange(t, "start-up of 3 s: median cut", got.cut, 6, 10)
	inRange(t, "start-up of 3 s: bias uncut", got.uncut, -0.035, -0.031)
	inRange(t, "start-up of 3 s: bias cut", got.kept, -0.005, 0.005)

	step := func(i int) float64 {
		if i >= 36 {
			return 0.9
		}
		return 1
	}
	inRange(t, "step of -10 % at 60 %: unsettled", rates(0.02, 1, step).unsettled, 0.90, 1)
	inRange(t, "step of -10 % at 60 %, noise 7 %: unsettled", rates(0.07, 1, step).unsettled, 0.45, 0.65)

	got = rates(0.02, 1.05, func(i int) float64 { return 1 + 0.1*float64(i)/59 })
	inRange(t, "drift of +10 %: unsettled", got.unsettled, 0.50, 0.70)
	inRange(t, "drift of +10 %: drifting", got.drifting, 0.60, 0.80)
}

// The guard of a timed trial has few batches: 3 plain standard errors of them would
// reject many steady trials.
func TestSteadyStateShort(t *testing.T) {
	for _, n := range []int{20, 25, 30, 40, 100} {
		rng := rand.New(rand.NewPCG(8, uint64(n)))
		var rule, plain float64
		for range reps {
			xs := simulated(rng, n, 0.07, flat)
			s := SteadyState(xs, 5)
			if s.Unsettled {
				rule += 1.0 / reps
			}
			z := Batches(xs[s.Cut:], 5)
			h := len(z) / 2
			_, s1 := meanSD(z[:h])
			_, s2 := meanSD(z[len(z)-h:])
			if math.Abs(s.Shift) > max(0.02, 3*math.Hypot(s1, s2)/math.Sqrt(float64(h))) {
				plain += 1.0 / reps
			}
		}
		inRange(t, "steady, short: unsettled", rule, 0, 0.01)
		if n <= 30 {
			inRange(t, "steady, short: by 3 standard errors", plain, 0.10, 0.40)
		}
	}
	rng := rand.New(rand.NewPCG(8, 2))
	var uncut, kept float64
	for range reps { // a start-up of 0.7 s in a trial of 4 s
		xs := simulated(rng, 40, 0.02, func(i int) float64 { return 1 - 0.3*math.Exp(-float64(i)*0.1/0.7) })
		all, _ := meanSD(xs)
		uncut += (all - 1) / reps
		kept += (SteadyState(xs, 5).Mean - 1) / reps
	}
	inRange(t, "start-up of 0.7 s: bias uncut", uncut, -0.065, -0.045)
	inRange(t, "start-up of 0.7 s: bias cut", kept, -0.01, 0)
}

// Method 5, item 8: what has no answer has none, and nothing panics.
func TestSteadyStateEdges(t *testing.T) {
	constant := make([]float64, 60)
	for i := range constant {
		constant[i] = 0.1
	}
	falling := make([]float64, 40)
	for i := range falling {
		falling[i] = math.Exp(-float64(i))
	}
	step := append(make([]float64, 10), constant[:30]...)
	for _, c := range []struct {
		name   string
		xs     []float64
		m      int
		cut    int
		judged bool
	}{
		{"constant", constant, 2, 0, true},
		{"zeros", make([]float64, 60), 2, 0, true},
		{"from zero to constant", step, 2, 10, true},
		{"at most half", falling, 2, 20, true},
		{"4 batches", constant[:8], 2, 0, true},
		{"3 batches and a rest", constant[:7], 2, 0, false},
		{"one sample", constant[:1], 1, 0, false},
		{"none", nil, 2, 0, false},
		{"no batches", constant, 0, 0, false},
		{"negative batches", constant, -3, 0, false},
		{"not a number", []float64{1, 1, 1, math.NaN(), 1, 1}, 1, 0, false},
		{"infinite", []float64{1, 1, 1, math.Inf(1), 1, 1}, 1, 0, false},
	} {
		s := SteadyState(c.xs, c.m)
		must.True(t, s.Cut == c.cut && s.Judged == c.judged, "%s: cut %d, judged %t, want %d, %t", c.name, s.Cut, s.Judged, c.cut, c.judged)
		must.True(t, c.name == "at most half" || !s.Unsettled && !s.Drifting && !math.IsNaN(s.Mean) && !math.IsNaN(s.Shift), "%s: %+v", c.name, s)
	}
	// Two halves that do not vary at all but differ.
	s := SteadyState([]float64{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2}, 1)
	must.True(t, s.Judged && !math.IsNaN(s.Drift), "blocks of equals: %+v", s)
}

func TestBatches(t *testing.T) {
	xs := []float64{1, 2, 3, 4, 5}
	for m, want := range map[int][]float64{1: xs, 2: {1.5, 3.5}, 5: {3}, 6: {}, 0: nil, -1: nil} {
		must.EqualFor(t, m, want, Batches(xs, m))
	}
}

func TestTheilSen(t *testing.T) {
	// By hand: 10 slopes of five samples, one far off: 0.5 .. with median 1.
	s, ok := TheilSen([]float64{0, 1, 2, 30, 4}, 0.90)
	must.Require(t, ok, "no slope")
	near(t, "slope with an outlier", s.Value, 1, 1e-12)
	must.True(t, s.Lo <= 1 && s.Hi >= 1, "%+v", s)
	rng := rand.New(rand.NewPCG(1, 2))
	hits := share(1000, func() bool {
		xs := make([]float64, 20)
		for i := range xs {
			xs[i] = 0.1*float64(i) + rng.NormFloat64()
		}
		s, ok := TheilSen(xs, 0.95)
		return ok && s.Lo <= 0.1 && 0.1 <= s.Hi
	})
	inRange(t, "coverage of the slope", hits, 0.93, 0.975)
	for _, c := range []struct {
		xs   []float64
		conf float64
	}{{nil, 0.95}, {[]float64{1}, 0.95}, {[]float64{1, 2, 3, 4}, 0.95}, {upTo(20), 1}, {[]float64{1, 2, 3, 4, 5, math.Inf(1)}, 0.95}} {
		s, ok := TheilSen(c.xs, c.conf)
		must.True(t, !ok, "%v at %g: %+v", c.xs, c.conf, s)
	}
	if s, ok := TheilSen(make([]float64, 20), 0.95); !ok || s != (Slope{}) {
		t.Errorf("constant: %+v %t", s, ok)
	}
}

// Of samples at few points, as of variants with many trials each, the interval holds the slope as often as it says, also with noise of
// a long tail. Pairs at one point have no slope.
func TestSlopeAt(t *testing.T) {
	s, ok := SlopeAt([]float64{0, 0, 0, 0, 10, 10, 10, 10}, []float64{1, 1, 1, 1, 21, 21, 21, 21}, 0.9)
	must.True(t, ok && s == (Slope{2, 2, 2}), "%+v %t", s, ok)
	rng := rand.New(rand.NewPCG(3, 4))
	for name, noise := range map[string]func() float64{"normal": rng.NormFloat64, "skewed": func() float64 { return math.Exp(1.5 * rng.NormFloat64()) }} {
		excludes := 0.0
		hits := share(1000, func() bool {
			var points, samples []float64
			for _, x := range []float64{0, 10, 100} {
				for range 12 {
					points, samples = append(points, x), append(samples, 5+0.05*x+noise())
				}
			}
			s, ok := SlopeAt(points, samples, 0.95)
			if ok && s.Lo > 0 {
				excludes += 1.0 / 1000
			}
			return ok && s.Lo <= 0.05 && 0.05 <= s.Hi
		})
		inRange(t, "coverage with "+name+" noise", hits, 0.93, 0.975)
		inRange(t, "a slope that is seen with "+name+" noise", excludes, 0.9, 1+1e-9)
	}
	for name, c := range map[string][2][]float64{
		"one point": {{3, 3, 3, 3, 3, 3}, upTo(6)}, "lengths": {upTo(6), upTo(7)}, "few": {{0, 0, 1}, {1, 2, 3}}, "no number": {{0, 1, 2, 3, 4, math.NaN()}, upTo(6)},
	} {
		s, ok := SlopeAt(c[0], c[1], 0.95)
		must.True(t, !ok, "%s: %+v", name, s)
	}
}

// upTo is n to 1.
func upTo(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(n - i)
	}
	return xs
}

// A level that changed is told from noise, wherever in the series it did.
func TestLevelChanged(t *testing.T) {
	from := func(at int, level float64) func(int) float64 {
		return func(i int) float64 {
			if i >= at {
				return level
			}
			return 1
		}
	}
	for _, tt := range []struct {
		name   string
		sd     float64
		level  func(i int) float64
		lo, hi float64 // share of series in which it is told, of 600 samples in 20 batches
	}{
		{"steady, quiet", 0.01, flat, 0, 0.02},
		{"steady, noisy", 0.5, flat, 0, 0.02},
		{"a burst in the first batch", 0.1, from(30, 0.5), 1, 1},
		{"a burst in a third of a batch", 0.05, from(10, 0.3), 0.99, 1},
		{"a burst in the first fifth", 0.3, from(120, 0.6), 1, 1},
		{"a burst in the first half", 0.3, from(300, 0.8), 0.99, 1},
		{"a rise in the last batch", 0.1, from(570, 1.5), 1, 1},
		{"a trend", 0.1, func(i int) float64 { return 1 - 0.2*float64(i)/600 }, 0.99, 1},
		{"a change below the noise", 0.5, from(300, 0.98), 0, 0.1},
	} {
		rng := rand.New(rand.NewPCG(9, 1))
		told := share(reps, func() bool { return LevelChanged(Batches(simulated(rng, 600, tt.sd, tt.level), 30)) })
		inRange(t, tt.name+": told", told, tt.lo, tt.hi)
	}
	if same := []float64{3, 3, 3, 3}; LevelChanged(same) || !LevelChanged(same[:3]) || !LevelChanged(nil) {
		t.Error("equal batches have no change if there are 4, and too few show nothing")
	}
}
