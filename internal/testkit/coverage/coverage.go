// Package coverage simulates how often the interval of a ratio holds it, by the rules of a run: which blocks share a set-up, and when
// the run stops. The tests and `make bench` use the same simulation.
package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/studytest"
	"tare/internal/traffic/workloads"
)

// Shares are the shares of the variance between set-ups that are simulated. 0 is that of blocks which are all alike.
func Shares() []float64 { return []float64{0, 0.25, 0.5, 0.9, 1} }

// Renewals are the blocks of each set-up, for the numbers of blocks that a run of a profile can end with (the least and the next four, and the
// most), of modes that are made fast and of modes that are made slowly, each once.
func Renewals() (all [][]int, err error) {
	seen := map[string]bool{}
	for _, profile := range study.Profiles() {
		for _, w := range []study.Workload{{Kind: "tcp_rr"}, {Kind: "tcp_rr", Slice: quantity.AtOnce}} {
			s, err := resolved(profile, w)
			if err != nil {
				return nil, err
			}
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
	return all, nil
}

func resolved(profile string, w study.Workload) (study.Study, error) {
	cat := studytest.Catalog()
	cat.Workloads = nil
	for _, w := range workloads.All() {
		cat.Workloads = append(cat.Workloads, w.Spec().WorkloadSpec)
	}
	return study.Resolve(study.Study{Profile: profile, Modes: study.ModesOf("host", "netns/bridge"), Workloads: []study.Workload{w}}, cat)
}

// Of is the share of the 95 % intervals of a ratio that hold it, in so many runs whose set-ups have these numbers of blocks, where a
// share of the variance is between set-ups.
func Of(rng *rand.Rand, sizes []int, between float64, runs int) float64 {
	var setups []int
	for i, n := range sizes {
		setups = append(setups, slices.Repeat([]int{i}, n)...)
	}
	covered := 0
	for range runs {
		v := variation{rng: rng, between: between}
		ds := make([]float64, len(setups))
		for i := range ds {
			ds[i] = v.next(i == 0 || setups[i] != setups[i-1])
		}
		if holds(stats.LevelBySetup(ds, setups), 0) {
			covered++
		}
	}
	return float64(covered) / float64(runs)
}

// AfterStopping is the share of the 95 % intervals that hold a ratio far from 1, and the mean number of blocks, in so many runs of a mode that is made
// slowly, which the rule of the profile standard ends: sd is the standard deviation of the logarithm of the ratio of a block.
func AfterStopping(rng *rand.Rand, sd, between float64, runs int) (share, blocks float64, err error) {
	const logRatio = -0.22 // far from equivalence, so that only the width settles
	s, err := resolved(study.Standard, study.Workload{Kind: "tcp_stream"})
	if err != nil {
		return 0, 0, err
	}
	for range runs {
		rule := stats.Stopping{MinBlocks: s.Stop.MinBlocks, ExtraBlocks: s.Stop.ExtraBlocks, MaxBlocks: s.Blocks, Width: s.Stop.Width, EffectWidth: s.Stop.EffectWidth, Margin: s.Margin}
		v := variation{rng: rng, between: between}
		var ds []float64
		var setups []int
		var l stats.LogRatio
		for halt := stats.GoOn; halt == stats.GoOn; {
			block := len(ds) + 1
			renewed := block == 1 || s.Recreate.Due(block, study.RecreateQuick)
			of := block
			if !renewed {
				of = setups[len(setups)-1]
			}
			setups, ds = append(setups, of), append(ds, logRatio+sd*v.next(renewed))
			l = stats.LevelBySetup(ds, setups)
			rule, halt = rule.After(block, l)
		}
		blocks += float64(l.N) / float64(runs)
		if holds(l, logRatio) {
			share += 1 / float64(runs)
		}
	}
	return share, blocks, nil
}

// variation is what blocks vary by: normal, with a variance of 1, of which a share is common to the blocks of a set-up.
type variation struct {
	rng     *rand.Rand
	between float64
	level   float64
}

func (v *variation) next(renewed bool) float64 {
	if renewed {
		v.level = v.rng.NormFloat64() * math.Sqrt(v.between)
	}
	return v.level + v.rng.NormFloat64()*math.Sqrt(1-v.between)
}

func holds(l stats.LogRatio, logRatio float64) bool {
	lo, hi, ok := l.Interval(0.95)
	return ok && lo <= math.Exp(logRatio) && math.Exp(logRatio) <= hi
}
