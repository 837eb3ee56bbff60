package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/traffic/workloads"
)

// renewals are the blocks of each set-up, for the numbers of blocks that a run of a profile can end with (the least and the next four, and the
// most), of modes that are made fast and of modes that are made slowly, each once.
func renewals(t *testing.T) (all [][]int) {
	t.Helper()
	seen := map[string]bool{}
	cat := studytest.Catalog()
	cat.Workloads = nil
	for _, w := range workloads.All() {
		cat.Workloads = append(cat.Workloads, w.Spec().WorkloadSpec)
	}
	for _, profile := range study.Profiles() {
		for _, w := range []study.Workload{{Kind: "tcp_rr"}, {Kind: "tcp_rr", Slice: study.AtOnce}} {
			s := must.Get(study.Resolve(study.Study{Profile: profile, Modes: study.ModesOf("host", "netns/bridge"), Workloads: []study.Workload{w}}, cat))(t)
			least := s.Stop.Least(s.Blocks)
			for blocks := least; blocks <= s.Blocks; blocks++ {
				if blocks > least+4 && blocks < s.Blocks {
					continue
				}
				for _, takes := range []time.Duration{0, study.RecreateQuick} {
					sizes := s.Recreate.SetUps(blocks, takes)
					if key := fmt.Sprint(sizes); !seen[key] {
						seen[key], all = true, append(all, sizes)
					}
				}
			}
		}
	}
	return all
}

// Of the intervals of a ratio, 94 to 96 % hold it for the combinations of blocks and renewals that a profile can have, whatever
// share of the variance is between set-ups.
func TestRenewalsOfProfilesCover(t *testing.T) {
	const runs = 4000
	rng := rand.New(rand.NewPCG(36, 4))
	slow := 0
	for _, sizes := range renewals(t) {
		var setups []int
		for i, n := range sizes {
			setups = append(setups, slices.Repeat([]int{i}, n)...)
		}
		shares := []float64{0, 0.25, 0.5, 0.9, 1}
		if len(sizes) == len(setups) {
			shares = []float64{0} // each block is a set-up
		} else {
			slow++
		}
		for _, between := range shares {
			covered := 0
			for range runs {
				ds, level := make([]float64, len(setups)), 0.0
				for i := range ds {
					if i == 0 || setups[i] != setups[i-1] {
						level = rng.NormFloat64() * math.Sqrt(between)
					}
					ds[i] = level + rng.NormFloat64()*math.Sqrt(1-between)
				}
				if lo, hi, ok := stats.LevelBySetup(ds, setups).Interval(0.95); ok && lo <= 1 && 1 <= hi {
					covered++
				}
			}
			got := float64(covered) / runs
			t.Logf("%2d blocks in set-ups of %v, %3.0f %% of the variance between them: %.1f %% cover", len(setups), sizes, 100*between, 100*got)
			if got < 0.94 || got > 0.966 { // a standard error of the simulation is 0.3 %
				t.Errorf("%d blocks in set-ups of %v, %g of the variance between them: %.3f of the intervals cover", len(setups), sizes, between, got)
			}
		}
	}
	if slow < 3 {
		t.Errorf("%d combinations with a set-up for several blocks", slow)
	}
}

// A run of the profile standard ends on the width of its intervals. Those of slow modes, with fewer set-ups than blocks, cover
// then, too, because set-ups are counted where blocks share them: by blocks, 92 % would.
func TestRenewalsCoverAfterStopping(t *testing.T) {
	const runs, ratio = 3000, -0.22 // far from equivalence, so that only the width settles
	s := must.Get(study.Resolve(study.Study{Profile: study.Standard, Modes: study.ModesOf("host", "netns/bridge"), Workloads: []study.Workload{{Kind: "tcp_stream"}}}, studytest.Catalog()))(t)
	rng := rand.New(rand.NewPCG(36, 5))
	for _, sd := range []float64{0.02, 0.04} {
		for _, between := range []float64{0, 0.5, 1} {
			covered, blocks := 0, 0
			for range runs {
				rule := stats.Stopping{MinBlocks: s.Stop.MinBlocks, ExtraBlocks: s.Stop.ExtraBlocks, MaxBlocks: s.Blocks, Width: s.Stop.Width, EffectWidth: s.Stop.EffectWidth, Margin: s.Margin}
				var ds []float64
				var setups []int
				level, halt := 0.0, stats.GoOn
				var l stats.LogRatio
				for halt == stats.GoOn {
					block := len(ds) + 1
					if block == 1 || s.Recreate.Due(block, study.RecreateQuick) {
						level = rng.NormFloat64() * math.Sqrt(between)
						setups = append(setups, block)
					} else {
						setups = append(setups, setups[len(setups)-1])
					}
					ds = append(ds, ratio+sd*(level+rng.NormFloat64()*math.Sqrt(1-between)))
					l = stats.LevelBySetup(ds, setups)
					rule, halt = rule.After(block, l)
				}
				blocks += l.N
				if lo, hi, ok := l.Interval(0.95); ok && lo <= math.Exp(ratio) && math.Exp(ratio) <= hi {
					covered++
				}
			}
			got := float64(covered) / runs
			t.Logf("a spread of %g, %3.0f %% between set-ups: %.1f %% cover after %.1f blocks", sd, 100*between, 100*got, float64(blocks)/runs)
			if got < 0.935 || got > 0.966 {
				t.Errorf("a spread of %g, %g of it between set-ups: %.3f of the intervals cover", sd, between, got)
			}
		}
	}
}
