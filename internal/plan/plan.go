// Package plan converts a resolved study to the ordered list of its trials. It is pure:
// the same study and seed give the same order, so that a run can be announced, repeated
// and resumed.
package plan

import (
	"iter"
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
	Tail     bool // of the tail pass; see Tails
	Paces    bool // only shows at which rate a workload is paced; see FirstTrial
	// Held is how long the path needs for the data that it holds, if that is more than a slice carries. The
	// trial then runs in one piece, although its workload has slices.
	Held time.Duration
}

// Pilot reports whether the trial only measures the warm-up of the mode.
func (t Trial) Pilot() bool { return t.Block == 0 && !t.Paces }

// Aside reports whether the trial counts in no cell.
func (t Trial) Aside() bool { return t.Block == 0 || t.Profiled || t.Tail }

// Plan is the trials of a study in the order they run. It does not hold them: Block and
// Trials compute them from the seed whenever they are needed, and Extent adds them up
// without making any.
type Plan struct {
	Seed       uint64
	MinBlocks  int              // minimum number of blocks
	Blocks     int              // maximum number of blocks
	Modes      []string         // by name, in the study's order; the control last
	Workloads  []study.Workload // in the study's order, with their verification workloads; the cost pass last
	Varied     []study.Varied   // of the sensitivity pass
	Settle     time.Duration    // idle wait before each trial
	Recreate   study.Recreate
	SetupTimes map[string]time.Duration // by mode, as far as known; see WithSetupTimes

	drawn    []string                    // the modes whose order is drawn: Modes, and those that Without removed
	pilot    *study.Workload             // of the pilots, nil without them
	pass     study.CostPass              // the blocks of the cost pass, whose workload is the last one
	paced    []study.Workload            // of the first trials
	tails    []Trial                     // of the tail pass, without their rates
	searches map[string][2]time.Duration // by workload: how long the first search of a mode takes, and each later one
	revised  []revision
	whole    []whole
}

// revision is a workload as it is from a block on.
type revision struct {
	from     int
	workload study.Workload
}

// Make plans a resolved study. A block contains every mode once with every workload of
// that block. Within a block the workloads follow each other in random order, and within
// a workload the modes do, so that a mode and its baseline stay close in time (randomized
// multiple interleaved trials, Abedi and Brecht, ICPE 2017). The order of a block does
// not depend on the number of blocks that follow. The pilots, one for each mode, run
// before the first block. The cost pass and the workloads of the sensitivity pass run
// at random places between the workloads of the blocks that have them.
func Make(s study.Study) Plan {
	p := Plan{
		Seed: s.Seed, MinBlocks: s.Stop.Least(s.Blocks), Blocks: s.Blocks, Modes: s.ModeNames(), Workloads: Workloads(s),
		Settle: s.Settle.Std(), Recreate: s.Recreate, drawn: s.ModeNames(),
	}
	if w, piloted := Pilot(s); piloted {
		p.pilot = &w
	}
	for _, w := range Paced(s) {
		p.paced = append(p.paced, FirstTrial(s, w))
	}
	if pass, _, passing := CostPass(s); passing {
		p.pass, p.Workloads = s.CostPass, append(p.Workloads, pass.Workload)
	}
	p.Varied = Varied(s)
	p.tails = Tails(s)
	p.estimateSearches()
	return p
}

// Trials yields the trials in the order they run, from the pilots on.
func (p Plan) Trials() iter.Seq[Trial] {
	return func(yield func(Trial) bool) {
		for block := range p.Blocks + 1 {
			for _, t := range p.Block(block) {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// Block returns the trials of a block in the order they run: of block 0 the pilots, none of
// a block that the plan does not have.
func (p Plan) Block(block int) []Trial {
	if block < 0 || block > p.Blocks {
		return nil
	}
	var trials []Trial
	rng := rng(p.Seed, block)
	for _, w := range shuffled(rng, p.ordinary(block)) {
		trials = append(trials, p.group(rng, block, w)...)
	}
	if block > 0 && p.pass.In(block) {
		trials = p.passIn(block, trials)
	}
	if block > 0 {
		trials = p.variedIn(block, trials)
	}
	if len(p.Modes) < len(p.drawn) {
		trials = slices.DeleteFunc(trials, func(t Trial) bool { return !slices.Contains(p.Modes, t.Mode) })
	}
	return trials
}

// ordinary are the workloads of a block without the cost pass, as they are in that block.
func (p Plan) ordinary(block int) []study.Workload {
	if block == 0 {
		if p.pilot == nil {
			return nil
		}
		return []study.Workload{*p.pilot}
	}
	var due []study.Workload
	for _, w := range p.Workloads {
		if w.ID != study.CostPassID && w.In(block) {
			due = append(due, p.revisedTo(block, w))
		}
	}
	return due
}

// group is a workload of a block once for each mode, in random order.
func (p Plan) group(rng *rand.Rand, block int, w study.Workload) []Trial {
	trials := make([]Trial, 0, len(p.drawn))
	for _, m := range shuffled(rng, p.drawn) {
		trials = append(trials, p.InOnePiece(Trial{Block: block, Mode: m, Workload: w, Expected: p.expected(block, w)}))
	}
	SlicedFirst(trials)
	return trials
}

// Revise changes a workload, which is named by its ID, from a block on.
func (p *Plan) Revise(from int, w study.Workload) {
	p.revised = append(slices.Clip(p.revised), revision{from, w})
}

// revisedTo is a workload as it is in a block.
func (p Plan) revisedTo(block int, w study.Workload) study.Workload {
	for _, r := range slices.Backward(p.revised) {
		if r.workload.ID == w.ID && r.from <= block {
			return r.workload
		}
	}
	return w
}

// Piloted reports whether the plan begins with pilots.
func (p Plan) Piloted() bool { return p.pilot != nil && len(p.Modes) > 0 }

// HasCostPass reports whether a block has a cost pass.
func (p Plan) HasCostPass() bool { return p.pass.Blocks(p.Blocks) > 0 && len(p.Modes) > 0 }

// rng is a separate random stream for each block: later blocks do not depend on how many
// numbers earlier ones used.
func rng(seed uint64, block int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(block))) }

// shuffled is a copy of s in random order (Fisher and Yates).
func shuffled[T any](rng *rand.Rand, s []T) []T {
	s = slices.Clone(s)
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	return s
}

// Without removes the trials of modes that cannot be measured and keeps the order of the
// others.
func (p Plan) Without(modes ...string) Plan {
	p.Modes = slices.DeleteFunc(slices.Clone(p.Modes), func(m string) bool { return slices.Contains(modes, m) })
	return p
}
