package plan

import (
	"slices"
	"time"

	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

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
	return w.Slice.Std() > 0 && w.Slice.Std() < w.Duration.Std() && !External(w) && workloads.CanSlice(w.Kind, w.Direction == study.Reverse)
}

// Overhead is what the trial takes beyond its traffic.
func (t Trial) Overhead() time.Duration {
	if t.IsSearch() {
		return t.Expected - t.Traffic()
	}
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
	if w := t.Workload; t.IsSearch() {
		return time.Duration(float64(t.Expected) * float64(w.Warmup.Std()+w.Step.Std()) / float64(step(w, w.Step.Std())))
	}
	if t.Sliced() {
		return t.Workload.Warmup.Std() + time.Duration(t.Rounds())*t.Workload.Slice.Std()
	}
	return t.Workload.Warmup.Std() + t.Workload.Duration.Std()
}

// Groups cuts trials, in their order, into those that run together: the sliced
// ones and the searches of one workload and block take turns, any other runs alone.
func Groups(trials []Trial) [][]Trial {
	var groups [][]Trial
	for _, t := range trials {
		if last := len(groups) - 1; last >= 0 {
			before := groups[last][0]
			if turns := t.Sliced() && before.Sliced() || t.IsSearch() && before.IsSearch(); turns && before.Block == t.Block && before.Workload.ID == t.Workload.ID {
				groups[last] = append(groups[last], t)
				continue
			}
		}
		groups = append(groups, []Trial{t})
	}
	return groups
}

// WithSetupTimes is p told how long each of its modes takes to be made and taken down; one
// that it is not told of takes no time. Estimates then hold what is made anew
// between blocks.
func (p Plan) WithSetupTimes(takes map[string]time.Duration) Plan {
	p.SetupTimes = takes
	return p
}

// ModesToRecreate lists the modes that are made anew before a block, as far as p knows how
// long that takes.
func (p Plan) ModesToRecreate(block int) []string {
	var modes []string
	for _, m := range p.Modes {
		if takes, told := p.SetupTimes[m]; told && p.Recreate.Due(block, takes) {
			modes = append(modes, m)
		}
	}
	return modes
}

// Estimate is how long trials of this plan take together, their settling waits
// included, one for each group, and what is made anew between the blocks that they
// are of.
func (p Plan) Estimate(trials []Trial) time.Duration {
	var sum time.Duration
	last := 0
	for i, g := range Groups(trials) {
		sum += p.Settle
		for _, t := range g {
			sum += t.Overhead() + t.Traffic()
		}
		if block := g[0].Block; i > 0 && block != last {
			for _, m := range p.ModesToRecreate(block) {
				sum += p.SetupTimes[m]
			}
		}
		last = g[0].Block
	}
	return sum
}

// Time is how long a run of so many blocks takes from its start to its end: the modes
// made and taken down, the pilots, the blocks, and what is made anew between them.
func (p Plan) Time(blocks int) time.Duration {
	sum := p.Estimate(slices.DeleteFunc(slices.Clone(p.Trials), func(t Trial) bool { return t.Block > blocks }))
	for _, m := range p.Modes {
		sum += p.SetupTimes[m]
	}
	return sum
}

// Slack is how many times as long as announced at most a run may be that ends by
// itself.
const Slack = 1.2

// Limit is how long a run of s may take, 0 for as long as it likes: what the study
// says or, where it ends by itself, what was announced at most, with some slack.
func (p Plan) Limit(s study.Study) time.Duration {
	switch {
	case s.MaxTime > 0:
		return s.MaxTime.Std()
	case s.Stop != nil:
		return time.Duration(Slack * float64(p.Time(p.Blocks)))
	}
	return 0
}
