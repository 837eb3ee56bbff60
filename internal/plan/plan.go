// Package plan converts a resolved study to the ordered list of its trials. It is pure:
// the same study and seed give the same order, so that a run can be announced, repeated
// and resumed.
package plan

import (
	"math/rand/v2"
	"slices"
	"time"

	"tare/internal/study"
)

// Trial is one step of a plan. Blocks count from 1; block 0 holds the pilots. Requeued
// marks a trial that is repeated at the end of the run; a plan itself contains none.
type Trial struct {
	Block    int
	Mode     string
	Workload study.Workload
	Expected time.Duration // of a rate search: estimated time; MaxTime is its limit
	Requeued bool
	Profiled bool // only samples stacks; see Profiles
}

// Pilot reports whether the trial only measures the warm-up of the mode.
func (t Trial) Pilot() bool { return t.Block == 0 }

// Plan is the trials of a study in the order they run.
type Plan struct {
	Seed       uint64
	MinBlocks  int              // minimum number of blocks
	Blocks     int              // maximum number of blocks
	Modes      []string         // by name, in the study's order; the control last
	Workloads  []study.Workload // in the study's order, with their verification workloads; the cost pass last
	Trials     []Trial
	Settle     time.Duration // idle wait before each trial
	Recreate   study.Renew
	SetupTimes map[string]time.Duration // by mode, as far as known; see WithSetupTimes
}

// Make plans a resolved study. A block contains every mode once with every workload of
// that block. Within a block the workloads follow each other in random order, and within
// a workload the modes do, so that a mode and its baseline stay close in time (randomized
// multiple interleaved trials, Abedi and Brecht, ICPE 2017). The order of a block does
// not depend on the number of blocks that follow. The pilots, one for each mode, run
// before the first block. The cost pass runs at a random place between the workloads of
// the blocks that have it.
func Make(s study.Study) Plan {
	p := Plan{
		Seed: s.Seed, MinBlocks: s.Stop.Least(s.Blocks), Blocks: s.Blocks, Modes: s.ModeNames(), Workloads: Workloads(s),
		Settle: s.Settle.Std(), Recreate: s.Renew,
	}
	pass, _, passing := CostPass(s)
	if w, piloted := Pilot(s); piloted {
		for _, m := range shuffled(rng(s, 0), p.Modes) {
			p.Trials = append(p.Trials, Trial{Mode: m, Workload: w})
		}
	}
	for block := 1; block <= s.Blocks; block++ {
		due := slices.DeleteFunc(slices.Clone(p.Workloads), func(w study.Workload) bool { return !w.In(block) })
		rng := rng(s, block)
		var groups [][]Trial
		for _, w := range shuffled(rng, due) {
			var trials []Trial
			for _, m := range shuffled(rng, p.Modes) {
				trials = append(trials, Trial{Block: block, Mode: m, Workload: w})
			}
			groups = append(groups, trials)
		}
		if passing && s.CostPass.In(block) {
			groups = passIn(s, block, groups, p.Modes, pass.Workload)
		}
		p.Trials = append(p.Trials, slices.Concat(groups...)...)
	}
	if passing {
		p.Workloads = append(p.Workloads, pass.Workload)
	}
	p.estimateSearches()
	return p
}

// rng is a separate random stream for each block: later blocks do not depend on how many
// numbers earlier ones used.
func rng(s study.Study, block int) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, uint64(block))) }

// shuffled is a copy of s in random order (Fisher and Yates).
func shuffled[T any](rng *rand.Rand, s []T) []T {
	s = slices.Clone(s)
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	return s
}

// Without removes the trials of modes that cannot be measured and keeps the order of the
// others.
func (p Plan) Without(modes ...string) Plan {
	gone := func(m string) bool { return slices.Contains(modes, m) }
	p.Modes = slices.DeleteFunc(slices.Clone(p.Modes), gone)
	p.Trials = slices.DeleteFunc(slices.Clone(p.Trials), func(t Trial) bool { return gone(t.Mode) })
	return p
}
