package plan

import (
	"slices"
	"time"

	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// The time that a trial takes in addition to its traffic and the settling wait, and that
// a mode of namespaces takes to be set up and taken down, as measured by `make bench` on
// two cores and rounded up. ToolOverhead is the additional time to start an external tool
// at both endpoints, with its own handshakes; DrainOverhead is how long a receiver waits
// for datagrams that were lost.
const (
	TrialOverhead = 100 * time.Millisecond
	ModeOverhead  = 400 * time.Millisecond
	ToolOverhead  = 400 * time.Millisecond
	DrainOverhead = 250 * time.Millisecond
)

// External reports whether an external tool generates a workload's traffic.
func External(w study.Workload) bool { return w.Tool != "" && w.Tool != study.BuiltIn }

// Sliced reports whether the trial is interleaved with those of the other modes: it must
// be longer than its slice, and its generator must be able to pause.
func (t Trial) Sliced() bool {
	w := t.Workload
	return w.Slice.Std() > 0 && w.Slice.Std() < w.Duration.Std() && !External(w) && workloads.CanSlice(w.Kind, w.Direction == study.Reverse)
}

// Overhead is the time of the trial in addition to its traffic.
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

// Rounds is the number of slices that a sliced trial needs for its timed window.
func (t Trial) Rounds() int {
	slice := t.Workload.Slice.Std()
	timed := slice - slice/traffic.SliceWarmup
	return int((t.Workload.Duration.Std() + timed - 1) / timed)
}

// Traffic is how long payload flows in a trial.
func (t Trial) Traffic() time.Duration {
	if w := t.Workload; t.IsSearch() {
		return time.Duration(float64(t.Expected) * float64(w.Warmup.Std()+w.Step.Std()) / float64(step(w, w.Step.Std())))
	}
	if t.Sliced() {
		return t.Workload.Warmup.Std() + time.Duration(t.Rounds())*t.Workload.Slice.Std()
	}
	return t.Workload.Warmup.Std() + t.Workload.Duration.Std()
}

// Groups splits trials, in their order, into those that run together: the sliced trials
// and the searches of one workload and block are interleaved, any other trial runs alone.
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

// WithSetupTimes returns p with the time that each mode takes to be set up and taken
// down; a mode without an entry takes no time. Estimates then include the modes that are
// recreated between blocks.
func (p Plan) WithSetupTimes(takes map[string]time.Duration) Plan {
	p.SetupTimes = takes
	return p
}

// ModesToRecreate lists the modes that are recreated before a block, as far as their
// set-up time is known.
func (p Plan) ModesToRecreate(block int) []string {
	var modes []string
	for _, m := range p.Modes {
		if takes, told := p.SetupTimes[m]; told && p.Recreate.Due(block, takes) {
			modes = append(modes, m)
		}
	}
	return modes
}

// Estimate is how long trials of this plan take together, including one settling wait for
// each group and the modes that are recreated between their blocks.
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

// Time is how long a run with the given number of blocks takes: set-up and teardown of
// the modes, the pilots, the blocks, and the modes recreated between them.
func (p Plan) Time(blocks int) time.Duration {
	sum := p.Estimate(slices.DeleteFunc(slices.Clone(p.Trials), func(t Trial) bool { return t.Block > blocks }))
	for _, m := range p.Modes {
		sum += p.SetupTimes[m]
	}
	return sum
}

// Slack is the factor by which a run that stops early may exceed its estimate.
const Slack = 1.2

// Limit is how long a run of s may take, 0 for no limit: the limit of the study or, for a
// run that stops early, the estimated maximum with some slack.
func (p Plan) Limit(s study.Study) time.Duration {
	switch {
	case s.MaxTime > 0:
		return s.MaxTime.Std()
	case s.Stop != nil:
		return time.Duration(Slack * float64(p.Time(p.Blocks)))
	}
	return 0
}
