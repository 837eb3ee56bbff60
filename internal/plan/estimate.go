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
// for datagrams that were lost. With several pairs each pair adds PairOverhead to a trial and
// PairSliceOverhead to a slice, because its agents take turns on the CPUs.
const (
	TrialOverhead     = 100 * time.Millisecond
	ModeOverhead      = 200 * time.Millisecond
	ToolOverhead      = 400 * time.Millisecond
	DrainOverhead     = 250 * time.Millisecond
	PairOverhead      = 10 * time.Millisecond
	PairSliceOverhead = 2 * time.Millisecond
)

// External reports whether an external tool generates a workload's traffic.
func External(w study.Workload) bool { return w.Tool != "" && w.Tool != study.BuiltIn }

// Sliced reports whether the trial is interleaved with those of the other modes: it must
// be longer than its slice, and its generator must be able to pause.
func (t Trial) Sliced() bool {
	w := t.Workload
	return t.Held == 0 && w.Slice.Std() > 0 && w.Slice.Std() < w.Duration.Std() && !External(w) && workloads.CanSlice(w.Kind, w.Direction == study.Reverse)
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
	long += t.Held
	if pairs := time.Duration(t.Workload.Clients()); pairs > 1 {
		long += pairs * PairOverhead
		if t.Sliced() {
			long += pairs * time.Duration(t.Rounds()) * PairSliceOverhead
		}
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
	for i, t := range trials {
		if i > 0 && t.joins(&trials[i-1]) {
			last := len(groups) - 1
			groups[last] = append(groups[last], t)
			continue
		}
		groups = append(groups, []Trial{t})
	}
	return groups
}

// joins reports whether the trial runs together with the one before it.
func (t *Trial) joins(before *Trial) bool {
	return before.Block == t.Block && before.Workload.ID == t.Workload.ID &&
		(t.Sliced() && before.Sliced() || t.IsSearch() && before.IsSearch())
}

// Alone lists the workloads whose trials run one at a time, by name: their modes do not meet the same
// load of the machine. A mode that has to be measured in one piece is known only during a run.
func (p Plan) Alone() (names []string) {
	for _, w := range p.Workloads {
		if t := (Trial{Workload: w}); len(p.Modes) < 2 || !t.joins(&t) {
			names = append(names, w.Name())
		}
	}
	return names
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
	if p.SetsUp(block) {
		return nil
	}
	for _, m := range p.Modes {
		if takes, told := p.SetupTimes[m]; told && p.Recreate.Due(block, takes) {
			modes = append(modes, m)
		}
	}
	return modes
}

// SetsUp reports whether trials of a block set every mode up again, so that nothing else has to.
func (p Plan) SetsUp(block int) bool {
	return slices.ContainsFunc(p.Workloads, func(w study.Workload) bool { return w.Kind == study.SetupKind && w.In(block) })
}

// Estimate is how long trials of this plan take together, including one settling wait for
// each group and the modes that are recreated between their blocks.
func (p Plan) Estimate(trials []Trial) time.Duration {
	var sum time.Duration
	for i := range trials {
		t := &trials[i]
		sum += t.Overhead() + t.Traffic() + p.setUp(*t)
		if i > 0 && t.joins(&trials[i-1]) {
			continue
		}
		sum += p.Settle
		if i > 0 && t.Block != trials[i-1].Block {
			sum += p.recreation(t.Block)
		}
	}
	return sum
}

// setUp is how long it takes to set up the mode of a trial that measures that; 0 for any other.
func (p Plan) setUp(t Trial) time.Duration {
	if !t.SetsUp() {
		return 0
	}
	return p.SetupTimes[t.Mode]
}

// recreation is how long it takes to recreate the modes that are due before a block.
func (p Plan) recreation(block int) time.Duration {
	var sum time.Duration
	for _, m := range p.ModesToRecreate(block) {
		sum += p.SetupTimes[m]
	}
	return sum
}

// Extent is what the pilots and the first blocks of a plan add up to.
type Extent struct {
	Trials  int           // without the pilots
	Traffic time.Duration // how long payload flows
	Time    time.Duration // from the set-up of the modes to their teardown, modes recreated between blocks included
}

// Extent adds up the pilots and the given number of blocks. It takes no longer for a plan of
// very many trials, because all trials of a workload take equally long.
func (p Plan) Extent(blocks int) Extent {
	var e Extent
	if p.pilot != nil {
		e = p.add(e, 0, 1, *p.pilot)
		e.Trials = 0
	}
	for _, w := range p.paced {
		t := Trial{Workload: w, Paces: true}
		e.Traffic += t.Traffic()
		e.Time += p.Settle + t.Overhead() + t.Traffic()
	}
	for _, w := range p.Workloads {
		n := w.Blocks(blocks)
		if w.ID == study.CostPassID {
			n = p.pass.Blocks(blocks)
		}
		if n > 0 {
			e = p.add(e, 1, 1, w)
			e = p.add(e, 2, n-1, w)
		}
	}
	for _, v := range p.Varied {
		if n := v.Blocks(blocks); n > 0 {
			e = p.add(e, 1, n, v.Workload)
		}
	}
	for _, t := range p.tails {
		if slices.Contains(p.Modes, t.Mode) {
			e.Trials++
			e.Traffic += t.Traffic()
			e.Time += p.Settle + t.Overhead() + t.Traffic()
		}
	}
	for block := 2; block <= blocks; block++ {
		if len(p.Modes) > 0 && p.has(block) {
			e.Time += p.recreation(block)
		}
	}
	for _, m := range p.Modes {
		e.Time += p.SetupTimes[m]
	}
	return e
}

// add adds the trials of a workload in n blocks like that one.
func (p Plan) add(e Extent, block, n int, w study.Workload) Extent {
	if len(p.Modes) == 0 {
		return e
	}
	together := 0 // modes whose trials are like t
	t := Trial{Block: block, Workload: w, Expected: p.expected(block, w)}
	more := func(t Trial, modes int) {
		trials, groups := n*modes, n
		if !t.joins(&t) {
			groups = trials
		}
		e.Trials += trials
		e.Traffic += time.Duration(trials) * t.Traffic()
		e.Time += time.Duration(groups)*p.Settle + time.Duration(trials)*(t.Overhead()+t.Traffic())
	}
	for _, m := range p.Modes {
		own := t
		own.Mode = m
		e.Time += time.Duration(n) * p.setUp(own)
		if own = p.InOnePiece(own); own.Held > 0 {
			more(own, 1)
			continue
		}
		together++
	}
	if together > 0 {
		more(t, together)
	}
	return e
}

// has reports whether a block has any trials.
func (p Plan) has(block int) bool {
	return p.pass.In(block) || slices.ContainsFunc(p.Workloads, func(w study.Workload) bool { return w.ID != study.CostPassID && w.In(block) })
}

// Time is how long a run with the given number of blocks takes: set-up and teardown of
// the modes, the pilots, the blocks, and the modes recreated between them.
func (p Plan) Time(blocks int) time.Duration { return p.Extent(blocks).Time }

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
