package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/testkit/must"
)

// run makes blocks until the rule says stop; the log ratios of a block have this
// mean and spread.
func (s Stopping) run(t *testing.T, rng *rand.Rand, mean, sd float64) (LogRatio, Halt) {
	t.Helper()
	var ds []float64
	for {
		ds = append(ds, mean+sd*rng.NormFloat64())
		m, spread := meanSD(ds)
		l := LogRatio{N: len(ds), Mean: m, SD: spread}
		var h Halt
		if s, h = s.After(len(ds), l); h != GoOn {
			return l, h
		}
		must.Require(t, len(ds) <= 1000, "does not stop")
	}
}

// Method 5, item 5: stopping on width keeps the interval's word.
func TestStoppingCoverage(t *testing.T) {
	// A ratio of 0.8 is far from equivalence, so that only the width settles. That of the effect settles
	// where the ratio is far from 1.
	const near = -0.22
	for _, c := range []struct{ mean, sd, coverage, n, slack float64 }{
		{near, 0.02, 0.95, 8, 0.7}, {near, 0.03, 0.94, 10, 1}, {near, 0.05, 0.94, 18, 1.5},
		{-0.7, 0.03, 0.95, 8, 1}, {-0.7, 0.05, 0.94, 12, 2}, {-3, 0.1, 0.95, 7, 1}, {-4.4, 0.25, 0.94, 10, 2}, {1.4, 0.1, 0.94, 12, 2},
	} {
		rule := Stopping{MinBlocks: 5, ExtraBlocks: 2, MaxBlocks: 30, Width: 0.025, EffectWidth: 0.05, Margin: 0.05}
		hits, n, wider := coverage(t, rule, c.mean, c.sd)
		name := fmt.Sprintf("stop at 2.5 %% or a twentieth, ratio %.3g, spread %g: ", math.Exp(c.mean), c.sd)
		inRange(t, name+"coverage", hits, c.coverage-0.01, c.coverage+0.015)
		inRange(t, name+"mean blocks", n, c.n-c.slack, c.n+c.slack)
		inRange(t, name+"ends wider than the target", wider, 0, 0.2)
	}
	// What the rule's parts are for: netperf's scheme, from 3 and without the extra.
	hasty := Stopping{MinBlocks: 3, MaxBlocks: 30, Width: 0.025}
	hits, _, _ := coverage(t, hasty, near, 0.03)
	inRange(t, "from 3 blocks, none extra: coverage", hits, 0.88, 0.925)
}

func coverage(t *testing.T, rule Stopping, mean, sd float64) (hits, blocks, wider float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(1000*sd)))
	truth := LogRatio{Mean: mean}.Ratio()
	for range reps {
		l, h := rule.run(t, rng, mean, sd)
		blocks += float64(l.N) / reps
		if covers(l, 0.95, truth) {
			hits += 1.0 / reps
		}
		if h == Settled && l.HalfWidth(0.95) > rule.Width && l.logHalfWidth(0.95) > rule.EffectWidth*math.Abs(l.Mean) {
			wider += 1.0 / reps
		}
	}
	return hits, blocks, wider
}

// Method 5, item 5: the warning example. Stopping when something looks significant,
// between 3 and 30 blocks, finds a difference between equals in 27 % of sessions. No
// such rule is in the product.
func TestStopWhenSignificant(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     float64
	}{{3, 30, 0.27}, {3, 10, 0.17}, {5, 20, 0.20}} {
		rng := rand.New(rand.NewPCG(5, uint64(c.from*100+c.to)))
		found := share(reps, func() bool {
			var ds []float64
			for len(ds) < c.to {
				ds = append(ds, rng.NormFloat64())
				mean, sd := meanSD(ds)
				if len(ds) >= c.from && (LogRatio{N: len(ds), Mean: mean, SD: sd}).P() < 0.05 {
					return true
				}
			}
			return false
		})
		inRange(t, fmt.Sprintf("stop when significant, %d to %d", c.from, c.to), found, c.want-0.03, c.want+0.03)
	}
}

func TestStopping(t *testing.T) {
	rule := Stopping{MinBlocks: 5, ExtraBlocks: 2, MaxBlocks: 12, Width: 0.025, EffectWidth: 0.05, Margin: 0.05}
	narrow := func(n int) LogRatio { return LogRatio{N: n, Mean: -0.2, SD: 0.01} }
	same := func(n int) LogRatio { return LogRatio{N: n, Mean: 0.001, SD: 0.04} } // at 5: 90 % +-3.8 %, 95 % +-5 %
	wide := func(n int) LogRatio { return LogRatio{N: n, Mean: -0.2, SD: 0.2} }
	far := func(n int) LogRatio { return LogRatio{N: n, Mean: -3, SD: 0.1} } // at 5: +-0.12 of 3
	for _, c := range []struct {
		name  string
		rule  Stopping
		ratio func(n int) LogRatio
		n     int
		halt  Halt
		at    int
	}{
		{"narrow at once", rule, narrow, 7, Settled, 5},
		{"the same at once", rule, same, 7, Settled, 5},
		{"never settled", rule, wide, 12, Capped, 0},
		{"far from 1", rule, far, 7, Settled, 5},
		{"far from 1, without the width of the effect", Stopping{MinBlocks: 5, ExtraBlocks: 2, MaxBlocks: 12, Width: 0.025}, far, 12, Capped, 0},
		{"settled once, wide again", rule, func(n int) LogRatio {
			if n == 6 {
				return narrow(n)
			}
			return wide(n)
		}, 8, Settled, 6},
		{"settled just before the cap", rule, func(n int) LogRatio {
			if n < 11 {
				return wide(n)
			}
			return narrow(n)
		}, 12, Settled, 11},
		{"a mode that failed in two blocks", rule, func(n int) LogRatio { return narrow(n - 2) }, 9, Settled, 7},
		{"a mode that always failed", rule, func(int) LogRatio { return LogRatio{} }, 12, Capped, 0},
		{"no cap", Stopping{MinBlocks: 5, Width: 0.025}, func(n int) LogRatio {
			if n < 50 {
				return wide(n)
			}
			return narrow(n)
		}, 50, Settled, 50},
		{"cap below the least", Stopping{MinBlocks: 5, MaxBlocks: 2, Width: 0.025}, narrow, 2, Capped, 0},
		{"one block has no width", Stopping{MinBlocks: 1, MaxBlocks: 9, Width: 0.1}, narrow, 2, Settled, 2},
	} {
		s, h, n := c.rule, GoOn, 0
		for h == GoOn && n < 100 {
			n++
			s, h = s.After(n, c.ratio(n))
		}
		must.True(t, n == c.n && h == c.halt && s.SettledAt == c.at,
			"%s: halt %d after %d blocks, settled at %d; want %d after %d, settled at %d", c.name, h, n, s.SettledAt, c.halt, c.n, c.at)
	}
}

// Where blocks share set-ups, these are counted: eight narrow blocks of four set-ups settle nothing, ten of five do.
func TestStoppingCountsSetups(t *testing.T) {
	rule := Stopping{MinBlocks: 5, Width: 0.025}
	for _, c := range []struct {
		n, setups int
		want      bool
	}{{5, 0, true}, {4, 0, false}, {8, 4, false}, {10, 5, true}, {7, 1, true}} {
		got := rule.Settles(LogRatio{N: c.n, Mean: -0.2, SD: 0.001, Setups: c.setups})
		must.True(t, got == c.want, "%d blocks in %d set-ups: settled %t", c.n, c.setups, got)
	}
}
