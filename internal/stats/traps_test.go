package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/testkit/must"
)

// Method 5, item 4: samples within a trial are no repeats. Trials differ by 3 %,
// seconds within one by 9 %, each like the one before (0.3).
func TestPerSecondTrap(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	const seconds, trials = 60, 10
	var fromSeconds, fromTrials float64
	for range reps {
		means := make([]float64, trials)
		for i := range means {
			level := 1 + 0.03*rng.NormFloat64()
			xs := simulated(rng, seconds, 0.09, func(int) float64 { return level })
			e := must.Get(MeanInterval(xs, 0.95))(t)
			if i == 0 && e.Lo <= 1 && 1 <= e.Hi {
				fromSeconds += 1.0 / reps
			}
			means[i] = e.Value
		}
		e := must.Get(MeanInterval(means, 0.95))(t)
		if e.Lo <= 1 && 1 <= e.Hi {
			fromTrials += 1.0 / reps
		}
	}
	inRange(t, "coverage from the seconds of one trial", fromSeconds, 0.40, 0.60)
	inRange(t, "coverage from trials", fromTrials, 0.94, 0.96)
}

// shared is a machine on which one trial in eight has some of its time stolen, which
// costs it up to 20 %; 6 % of noise is shared in a block.
type shared struct{ rng *rand.Rand }

func (m shared) level() float64 { return 0.06 * m.rng.NormFloat64() }

// trial gives a value and how much was stolen while it was made.
func (m shared) trial(level float64) (value, stolen float64) {
	if m.rng.IntN(8) == 0 {
		stolen = 0.2 * m.rng.Float64()
	}
	return math.Exp(level+0.03*m.rng.NormFloat64()) * (1 - stolen), stolen
}

// valid repeats a trial until nothing much was stolen: later, with another level.
func (m shared) valid(level float64) float64 {
	for {
		v, stolen := m.trial(level)
		if stolen <= 0.02 {
			return v
		}
		level = m.level()
	}
}

// Method 5, item 16: to rule out a trial by what was seen beside it, and to make it
// once more, shifts nothing. To drop the slowest trial does.
func TestInvalidationBias(t *testing.T) {
	const n = 10
	m := shared{rand.New(rand.NewPCG(16, 1))}
	var ruled, kept, dropped, apart, claims float64
	for range reps {
		x, b, plain := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range x {
			level := m.level()
			x[i], b[i] = m.valid(level), m.valid(level)
			plain[i], _ = m.trial(level)
		}
		l := must.Get(Paired(x, b))(t)
		if a := Decide(l, l.P(), 0.05); a == Different || a == Small {
			claims += 1.0 / reps
		}
		ruled += l.Mean / reps
		kept += meanLog(t, plain) / reps
		// The guard: the slowest trials of one mode are dropped, for looking odd.
		fast, rest := withoutSlowest(x, b, 2)
		g := must.Get(Paired(fast, rest))(t)
		apart += g.Mean / reps
		dropped += meanLog(t, fast) / reps
	}
	inRange(t, "A/A, ruled out and made again: mean log ratio", ruled, -0.001, 0.001)
	inRange(t, "A/A, ruled out and made again: false claims", claims, 0.03, 0.06)
	inRange(t, "nothing ruled out: mean log", kept, -0.02, -0.01)
	inRange(t, "the two slowest dropped: mean log", dropped, 0.015, 0.04)
	inRange(t, "the two slowest dropped: A/A mean log ratio", apart, 0.002, 0.02)
}

func meanLog(t *testing.T, xs []float64) float64 {
	t.Helper()
	mean, _ := meanSD(must.Get(logs(xs))(t))
	return mean
}

// withoutSlowest leaves out the blocks of the k smallest of x.
func withoutSlowest(x, b []float64, k int) (fast, rest []float64) {
	fast, rest = append(fast, x...), append(rest, b...)
	for range k {
		least := 0
		for i := range fast {
			if fast[i] < fast[least] {
				least = i
			}
		}
		fast = append(fast[:least], fast[least+1:]...)
		rest = append(rest[:least], rest[least+1:]...)
	}
	return fast, rest
}

// Method 5, item 18, the statistics of it: blocks in which one of a pair failed are
// left out for that pair. As long as failing has nothing to do with the value, what
// is left covers as often as it says, with the n of that pair.
func TestInterruptedSession(t *testing.T) {
	const ratio = 0.8
	rng := rand.New(rand.NewPCG(18, 1))
	m := newModel(8, 0.03, 0.06)
	pairs := map[int]int{}
	hits := share(reps, func() bool {
		base, modes := m.session(ratio)
		stop := 4 + rng.IntN(4) // whole blocks; in the next one the mode may be missing
		var x, b []float64
		for i := range stop + 1 {
			if i == stop && rng.IntN(2) == 0 || i < stop && rng.IntN(6) == 0 {
				continue
			}
			x, b = append(x, modes[0][i]), append(b, base[i])
		}
		if len(x) < 2 {
			return true // no interval, no miss
		}
		l := must.Get(Paired(x, b))(t)
		pairs[l.N]++
		return covers(l, 0.95, ratio)
	})
	inRange(t, "coverage of what is left", hits, 0.94, 0.96)
	must.True(t, pairs[3] >= reps/100 && pairs[6] >= reps/100, "pairs left: %v", pairs)
}
