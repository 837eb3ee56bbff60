package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
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
		if len(ds) > 1000 {
			t.Fatal("does not stop")
		}
	}
}

// Method 5, item 5: stopping on width keeps the interval's word.
func TestStoppingCoverage(t *testing.T) {
	const mean = -0.22 // far from equivalence, so that only width settles
	for _, c := range []struct{ sd, coverage, n, slack float64 }{
		{0.02, 0.95, 8, 0.7}, {0.03, 0.94, 10, 1}, {0.05, 0.94, 18, 1.5},
	} {
		rule := Stopping{MinBlocks: 5, ExtraBlocks: 2, MaxBlocks: 30, Width: 0.025, Margin: 0.05}
		hits, n, wider := coverage(t, rule, mean, c.sd)
		name := fmt.Sprintf("stop at 2.5 %%, spread %g: ", c.sd)
		inRange(t, name+"coverage", hits, c.coverage-0.01, c.coverage+0.015)
		inRange(t, name+"mean blocks", n, c.n-c.slack, c.n+c.slack)
		inRange(t, name+"ends wider than the target", wider, 0, 0.2)
	}
	// What the rule's parts are for: netperf's scheme, from 3 and without the extra.
	hasty := Stopping{MinBlocks: 3, MaxBlocks: 30, Width: 0.025}
	hits, _, _ := coverage(t, hasty, mean, 0.03)
	inRange(t, "from 3 blocks, none extra: coverage", hits, 0.88, 0.925)
}

func coverage(t *testing.T, rule Stopping, mean, sd float64) (hits, blocks, wider float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(1000*sd)))
	truth := LogRatio{Mean: mean}.Ratio()
	for range reps {
		l, h := rule.run(t, rng, mean, sd)
		blocks += float64(l.N) / reps
		if lo, hi, ok := l.Interval(0.95); ok && lo <= truth && truth <= hi {
			hits += 1.0 / reps
		}
		if h == Settled && l.HalfWidth(0.95) > rule.Width {
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
		found := 0
		for range reps {
			var ds []float64
			for len(ds) < c.to {
				ds = append(ds, rng.NormFloat64())
				if len(ds) < c.from {
					continue
				}
				mean, sd := meanSD(ds)
				if (LogRatio{N: len(ds), Mean: mean, SD: sd}).P() < 0.05 {
					found++
					break
				}
			}
		}
		inRange(t, fmt.Sprintf("stop when significant, %d to %d", c.from, c.to), float64(found)/reps, c.want-0.03, c.want+0.03)
	}
}

func TestStopping(t *testing.T) {
	rule := Stopping{MinBlocks: 5, ExtraBlocks: 2, MaxBlocks: 12, Width: 0.025, Margin: 0.05}
	narrow := func(n int) LogRatio { return LogRatio{N: n, Mean: -0.2, SD: 0.01} }
	same := func(n int) LogRatio { return LogRatio{N: n, Mean: 0.001, SD: 0.04} } // at 5: 90 % +-3.8 %, 95 % +-5 %
	wide := func(n int) LogRatio { return LogRatio{N: n, Mean: -0.2, SD: 0.2} }
	for _, c := range []struct {
		name   string
		rule   Stopping
		ratios func(n int) []LogRatio
		n      int
		halt   Halt
		at     int
	}{
		{"settled at once", rule, func(n int) []LogRatio { return []LogRatio{narrow(n), same(n)} }, 7, Settled, 5},
		{"never settled", rule, func(n int) []LogRatio { return []LogRatio{narrow(n), wide(n)} }, 12, Capped, 0},
		{"settled once, wide again", rule, func(n int) []LogRatio {
			if n == 6 {
				return []LogRatio{narrow(n)}
			}
			return []LogRatio{wide(n)}
		}, 8, Settled, 6},
		{"never all at the same time", rule, func(n int) []LogRatio {
			if n%2 == 0 {
				return []LogRatio{narrow(n), wide(n)}
			}
			return []LogRatio{wide(n), narrow(n)}
		}, 12, Capped, 0},
		{"settled just before the cap", rule, func(n int) []LogRatio {
			if n < 11 {
				return []LogRatio{wide(n)}
			}
			return []LogRatio{narrow(n)}
		}, 12, Settled, 11},
		{"a mode that failed in two blocks", rule, func(n int) []LogRatio { return []LogRatio{narrow(n), narrow(n - 2)} }, 9, Settled, 7},
		{"a mode that always failed", rule, func(n int) []LogRatio { return []LogRatio{narrow(n), {}} }, 12, Capped, 0},
		{"nothing to compare", rule, func(int) []LogRatio { return nil }, 7, Settled, 5},
		{"no cap", Stopping{MinBlocks: 5, Width: 0.025}, func(n int) []LogRatio {
			if n < 50 {
				return []LogRatio{wide(n)}
			}
			return []LogRatio{narrow(n)}
		}, 50, Settled, 50},
		{"cap below the least", Stopping{MinBlocks: 5, MaxBlocks: 2, Width: 0.025}, func(n int) []LogRatio { return []LogRatio{narrow(n)} }, 2, Capped, 0},
		{"one block has no width", Stopping{MinBlocks: 1, MaxBlocks: 9, Width: 0.1}, func(n int) []LogRatio { return []LogRatio{narrow(n)} }, 2, Settled, 2},
	} {
		s, h, n := c.rule, GoOn, 0
		for h == GoOn && n < 100 {
			n++
			s, h = s.After(n, c.ratios(n)...)
		}
		if n != c.n || h != c.halt || s.SettledAt != c.at {
			t.Errorf("%s: %v after %d blocks, settled at %d; want %v after %d, settled at %d", c.name, h, n, s.SettledAt, c.halt, c.n, c.at)
		}
	}
	for h, want := range map[Halt]string{GoOn: "go on", Settled: "settled", Capped: "cap", 9: "unknown halt"} {
		if h.String() != want {
			t.Errorf("%q, want %q", h, want)
		}
	}
}

// String gives the reason in a word.
func (h Halt) String() string {
	switch h {
	case GoOn:
		return "go on"
	case Settled:
		return "settled"
	case Capped:
		return "cap"
	}
	return "unknown halt"
}
