package ratesearch

import "math"

// nominee is a trial that a goal requests.
type nominee struct {
	load     int // index
	duration float64
	look     bool // above the ceiling, to check whether it is real
}

// nominate chooses among the trials that the goals request: the lowest load, because an
// upper bound there makes results above it useless; then the longest trial.
func (s *Search) nominate() (nominee, bool) {
	best, found := nominee{}, false
	for _, g := range s.goals {
		n, ok := s.ask(g)
		if !ok {
			continue
		}
		if !found || n.load < best.load || n.load == best.load && n.duration > best.duration {
			best, found = n, true
		}
	}
	if !found {
		return s.above()
	}
	return best, true
}

// ask is the trial that one goal requests: the first of its targets that is not reached
// decides.
func (s *Search) ask(g goalState) (nominee, bool) {
	before := bounds{}
	for i, t := range g.targets {
		b := s.bounds(t)
		if s.reached(t, b) {
			before = b
			continue
		}
		load := 0
		if i == 0 {
			load = s.explore(g, t, b)
		} else {
			load = s.refine(t, before)
		}
		// The ceiling may have moved below a bracket measured earlier.
		return nominee{load: min(load, s.ceiling), duration: t.FinalDuration}, true
	}
	return s.doubt(g, before)
}

// refine works within the bracket of the previous target: it halves it if it is too wide,
// and else measures its lower and then its upper end with this target's evidence. If the
// classification changes, the previous target is no longer reached and repeats its part.
func (s *Search) refine(t target, before bounds) int {
	switch {
	case before.lower != none && before.upper != none && before.upper-before.lower > t.steps:
		return split(before.lower, before.upper, t.steps)
	case before.lower != none && t.class(before.lower) != Lower:
		return before.lower
	}
	return before.upper
}

// split is where to split a bracket: its lower part becomes the target's width times a
// power of two, as near to the middle as possible.
func split(lower, upper, steps int) int {
	part := steps
	for 2*part <= (upper-lower)/2 {
		part *= 2
	}
	return lower + min(part, upper-lower-1)
}

// explore searches for a first bracket with single trials.
func (s *Search) explore(g goalState, t target, b bounds) int {
	if i, ok := begin(g, b); ok {
		return i
	}
	switch {
	case b.lower == none && b.upper == none:
		return s.ceiling
	case b.lower == none:
		return s.descend(g, t, b)
	}
	next := b.lower + s.gap(t, b.lowers[max(0, len(b.lowers)-2):])
	if b.upper == none {
		return next
	}
	return min(next, split(b.lower, b.upper, t.steps))
}

// begin is the first load of a goal: an end of the bracket of an earlier search, unless a
// measurement contradicts it.
func begin(g goalState, b bounds) (int, bool) {
	open := func(i int) bool { return i > b.lower && (b.upper == none || i < b.upper) }
	switch {
	case g.near == nil:
		return 0, false
	case open(g.near[0]):
		return g.near[0], true
	case b.lower == g.near[0] && open(g.near[1]):
		return g.near[1], true
	}
	return 0, false
}

// descend moves down from the lowest load known to be too high, while no good load is
// known: to what arrived, if that was less, and else by doubling steps.
func (s *Search) descend(g goalState, t target, b bounds) int {
	arrived := 0.0
	for _, t := range s.byLoad[b.upper] {
		arrived = max(arrived, t.forwarded())
	}
	if hint := s.grid.below(arrived / (1 - g.LossRatio)); hint >= 0 && hint < b.upper {
		return hint
	}
	return max(0, b.upper-s.gap(t, b.uppers[:min(2, len(b.uppers))]))
}

// leap is the ratio of two loads above which they were not consecutive steps: a hint was
// between them.
const leap = 1.5

// gap is the next step: twice the distance of the last two loads on the same side, and a
// narrow one at first.
func (s *Search) gap(t target, last []int) int {
	step := max(1, t.steps>>coarser)
	first, second := last[0], last[len(last)-1]
	if s.grid.load(second) > leap*s.grid.load(first) {
		return step
	}
	return max(step, 2*(second-first))
}

// coarser is the number of targets before a goal's own.
const coarser = 2

// target is an intermediate goal: a bracket width and evidence to reach.
type target struct {
	Goal                   // with the duration and the sum of this target
	steps int              // of the grid, for the width of this target
	seen  map[int]evidence // by index in the grid
}

// class is the class of a load by its trials for this target.
func (t target) class(i int) Class { return t.seen[i].class(t.Goal) }

// targets returns the targets of g, coarse to fine: each has half the width of the
// previous one, the first has single trials of the initial duration, and the seconds of
// evidence grow geometrically.
func targets(g Goal, on grid) []target {
	out := make([]target, coarser+1)
	first := g.initial()
	for i := range out {
		t := g
		t.DurationSum = first * math.Pow(g.DurationSum/first, float64(i)/coarser)
		t.FinalDuration = min(g.FinalDuration, t.DurationSum)
		out[i] = target{t, on.steps(g.Width) << (coarser - i), map[int]evidence{}}
	}
	out[coarser].Goal = g // avoid rounding
	return out
}

// goalState is the state of the search for a goal.
type goalState struct {
	Goal
	targets []target
	near    []int // lower and upper index to start at; nil starts at the maximum
}

// final is the goal itself as the last of its targets.
func (g goalState) final() target { return g.targets[len(g.targets)-1] }

// none is not an index of the grid.
const none = -1

// bounds are the relevant bounds of a target, as indices; none where there is none.
type bounds struct {
	lower, upper int
	lowers       []int // all loads with this class below the relevant upper bound, ascending
	uppers       []int // all loads with this class, ascending
	above        []int // good loads above the relevant upper bound, ascending
}

// bounds finds the lowest load that exceeds the target, and the highest load below it
// that meets it. Good loads above the upper bound are listed separately: loss inversion.
func (s *Search) bounds(t target) bounds {
	b := bounds{lower: none, upper: none}
	for _, i := range s.loads {
		switch t.class(i) {
		case Upper:
			b.uppers = append(b.uppers, i)
			if b.upper == none {
				b.upper = i
			}
		case Lower:
			if b.upper == none {
				b.lower = i
				b.lowers = append(b.lowers, i)
			} else {
				b.above = append(b.above, i)
			}
		}
	}
	return b
}

// reached reports whether a target needs no more trials: the bracket is narrow enough, or
// an end of the allowed loads is on the wrong side.
func (s *Search) reached(t target, b bounds) bool {
	switch {
	case s.ceiling < 0: // the sender reaches no load at all
		return true
	case b.upper == 0:
		return true
	case b.lower != none && b.lower >= s.ceiling:
		return true
	}
	return b.lower != none && b.upper != none && b.upper-b.lower <= t.steps
}

const (
	// nearby is the ratio of loads within which another bad load above an upper bound
	// confirms it, and probe the ratio at which one is tried.
	nearby = 1.1
	probe  = 1.06

	// believed is the number of full-length trials that an upper bound needs if the load
	// close above it was good.
	believed = 6
)

// doubt is the trial that a goal still requests when its bracket is narrow enough,
// because a single upper bound may be due to chance. Two bad trials of three are rare,
// but a search that tries many loads below its limit encounters them, and would end
// there. A load close above is therefore tried once; if that is good, the upper bound is
// measured with more trials, which decide. If one bad trial is meant to decide (exceed
// ratio 0), no trial is added.
func (s *Search) doubt(g goalState, b bounds) (nominee, bool) {
	if b.upper == none || b.upper >= s.ceiling || g.ExceedRatio == 0 {
		return nominee{}, false
	}
	first, final := g.targets[0], g.final()
	good := false
	for _, i := range s.loads {
		if i <= b.upper || s.grid.load(i) > nearby*s.grid.load(b.upper) {
			continue
		}
		switch first.class(i) {
		case Upper:
			return nominee{}, false
		case Lower:
			good = true
		}
	}
	ev := final.seen[b.upper]
	switch {
	case !good:
		above := max(b.upper+1, s.grid.below(probe*s.grid.load(b.upper)))
		return nominee{load: min(above, s.ceiling), duration: first.FinalDuration}, true
	case ev.fullLow+ev.fullHigh < believed*micro(g.FinalDuration):
		return nominee{load: b.upper, duration: g.FinalDuration}, true
	}
	return nominee{}, false
}
