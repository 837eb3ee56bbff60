// Package plan turns a resolved study into the ordered list of its trials. It is
// pure: the same study and seed give the same order, so that a run can be
// announced, repeated and resumed.
package plan

import (
	"math/rand/v2"
	"slices"
	"time"

	"tare/internal/study"
)

// Trial is one step of a plan. Blocks count from 1; block 0 holds the pilots.
// Requeued is one that is run once more, at the end: the plan itself holds none.
type Trial struct {
	Block    int
	Mode     string
	Workload study.Workload
	Expected time.Duration // of a rate search: how long it takes; its most is Most
	Requeued bool
	Profiled bool // only there to sample stacks: see Profiles
}

// Pilot reports whether the trial is only there to show how long the mode takes to
// warm up.
func (t Trial) Pilot() bool { return t.Block == 0 }

// Plan is the trials of a study in the order they run.
type Plan struct {
	Seed       uint64
	MinBlocks  int              // blocks that there are in any case
	Blocks     int              // blocks that there are at most
	Modes      []string         // by name, in the study's order; the control last
	Workloads  []study.Workload // in the study's order, twins included; the cost pass last
	Trials     []Trial
	Settle     time.Duration // idle wait before each trial
	Recreate   study.Renew
	SetupTimes map[string]time.Duration // by mode, as far as known; see Taking
}

// Make plans a resolved study. A block holds every mode once with every
// workload that is driven in it. Within a block the workloads follow each other in random order, and
// within a workload the modes do, so that a mode and its baseline stay close in
// time (randomized multiple interleaved trials, Abedi and Brecht, ICPE 2017). The
// blocks up to any one are the same however many may follow.
//
// Before the first block stand the pilots, one of each mode. The cost pass stands
// somewhere between the workloads of the blocks that have it.
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
	p.expect()
	return p
}

// rng is a stream of its own for each block: later blocks do not depend on how many
// draws the earlier ones took.
func rng(s study.Study, block int) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, uint64(block))) }

// shuffled is a copy of s in random order (Fisher and Yates).
func shuffled[T any](rng *rand.Rand, s []T) []T {
	s = slices.Clone(s)
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	return s
}

// Without drops the trials of modes that cannot be measured, leaving the order
// of the others as it was.
func (p Plan) Without(modes ...string) Plan {
	gone := func(m string) bool { return slices.Contains(modes, m) }
	p.Modes = slices.DeleteFunc(slices.Clone(p.Modes), gone)
	p.Trials = slices.DeleteFunc(slices.Clone(p.Trials), func(t Trial) bool { return gone(t.Mode) })
	return p
}
