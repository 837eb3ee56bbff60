// Package plan turns a resolved study into the ordered list of its trials. It is
// pure: the same study and seed give the same order, so that a run can be
// announced, repeated and resumed.
package plan

import (
	"math/rand/v2"
	"slices"
	"time"

	"tare/internal/study"
	"tare/internal/traffic"
)

// Trial is one step of a plan. Block counts from 1. Requeued is one that is run
// once more, at the end: the plan itself holds none.
type Trial struct {
	Block    int
	Mode     string
	Workload study.Workload
	Requeued bool
}

// Plan is the trials of a study in the order they run.
type Plan struct {
	Seed      uint64
	Blocks    int
	Modes     []string         // by name, in the study's order
	Workloads []study.Workload // in the study's order, twins included, planned ones left out
	Trials    []Trial
	Settle    time.Duration // idle wait before each trial
}

// Make plans a resolved study. A block holds every mode once with every
// workload. Within a block the workloads follow each other in random order, and
// within a workload the modes do, so that a mode and its baseline stay close in
// time (randomized multiple interleaved trials, Abedi and Brecht, ICPE 2017).
func Make(s study.Study) Plan {
	p := Plan{Seed: s.Seed, Blocks: s.Blocks, Modes: s.ModeNames(), Workloads: Workloads(s), Settle: s.Settle.Std()}
	for block := 1; block <= s.Blocks; block++ {
		// A stream of its own for each block: later blocks do not depend on how
		// many draws the earlier ones took.
		rng := rand.New(rand.NewPCG(s.Seed, uint64(block)))
		for _, w := range shuffled(rng, p.Workloads) {
			for _, m := range shuffled(rng, p.Modes) {
				p.Trials = append(p.Trials, Trial{Block: block, Mode: m, Workload: w})
			}
		}
	}
	return p
}

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

// What a trial takes beyond the traffic and the settling wait, and a mode of
// namespaces to be made and taken down, as measured by `make bench` on two cores and
// rounded up.
// ToolOverhead is what starting an external tool at both ends, and its own
// handshakes, take beyond that; DrainOverhead how long a receiver waits for
// datagrams that do not come.
const (
	TrialOverhead = 100 * time.Millisecond
	ModeOverhead  = 400 * time.Millisecond
	ToolOverhead  = 400 * time.Millisecond
	DrainOverhead = 250 * time.Millisecond
)

// External reports whether an external tool makes a workload's traffic.
func External(w study.Workload) bool { return w.Tool != "" && w.Tool != study.BuiltIn }

// Sliced reports whether the trial is driven in turns with those of the other
// modes: it must be longer than its slice, and what makes its traffic must be able
// to stop and go on.
func (t Trial) Sliced() bool {
	w := t.Workload
	return w.Slice.Std() > 0 && w.Slice.Std() < w.Duration.Std() && !External(w) && traffic.CanSlice(w.Kind, w.Direction == study.Reverse)
}

// Overhead is what the trial takes beyond its traffic.
func (t Trial) Overhead() time.Duration {
	long := TrialOverhead
	if External(t.Workload) {
		long += ToolOverhead
	}
	if t.Workload.PayloadSize > 0 { // a stream of datagrams
		long += DrainOverhead
	}
	return long
}

// Rounds is how many slices a sliced trial takes to have its full timed window.
func (t Trial) Rounds() int {
	slice := t.Workload.Slice.Std()
	timed := slice - slice/traffic.SliceWarmup
	return int((t.Workload.Duration.Std() + timed - 1) / timed)
}

// Traffic is how long a trial has payload flowing.
func (t Trial) Traffic() time.Duration {
	if t.Sliced() {
		return t.Workload.Warmup.Std() + time.Duration(t.Rounds())*t.Workload.Slice.Std()
	}
	return t.Workload.Warmup.Std() + t.Workload.Duration.Std()
}

// Groups cuts trials, in their order, into those that run together: the sliced
// ones of one workload and block take turns, any other runs alone.
func Groups(trials []Trial) [][]Trial {
	var groups [][]Trial
	for _, t := range trials {
		if last := len(groups) - 1; last >= 0 {
			before := groups[last][0]
			if t.Sliced() && before.Sliced() && before.Block == t.Block && before.Workload.ID == t.Workload.ID {
				groups[last] = append(groups[last], t)
				continue
			}
		}
		groups = append(groups, []Trial{t})
	}
	return groups
}

// Estimate is how long trials of this plan take together, their settling waits
// included: one for each group.
func (p Plan) Estimate(trials []Trial) time.Duration {
	var sum time.Duration
	for _, g := range Groups(trials) {
		sum += p.Settle
		for _, t := range g {
			sum += t.Overhead() + t.Traffic()
		}
	}
	return sum
}
