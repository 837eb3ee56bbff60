package ratesearch

import "math"

// nominee is a trial that a goal asks for.
type nominee struct {
	load     int // index
	duration float64
	look     bool // above the ceiling, to see whether it holds
}

// nominate chooses among what the goals ask for: the lowest load, since an upper
// bound there makes vain what would be found above; then the longest trial.
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

// ask is what one goal wants measured: the first of its targets that is not
// reached decides.
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
		// The ceiling may have come down below a bracket measured earlier.
		return nominee{load: min(load, s.ceiling), duration: t.FinalDuration}, true
	}
	return s.doubt(g, before)
}

// refine works within the bracket of the target before: it halves it if it is too
// wide, and else measures its lower and then its upper end on this target's
// evidence. What turns out otherwise is undone in the target before, which is then
// no longer reached.
func (s *Search) refine(t target, before bounds) int {
	switch {
	case before.lower != none && before.upper != none && before.upper-before.lower > t.steps:
		return split(before.lower, before.upper, t.steps)
	case before.lower != none && t.class(before.lower) != Lower:
		return before.lower
	}
	return before.upper
}

// split is where to cut a bracket: so that its lower part is the target's width
// times a power of two, as near to the middle as that goes.
func split(lower, upper, steps int) int {
	part := steps
	for 2*part <= (upper-lower)/2 {
		part *= 2
	}
	return lower + min(part, upper-lower-1)
}

// explore looks for a first bracket with single trials.
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

// begin is where a goal starts: with the ends of the bracket that an earlier
// search left, as long as nothing measured speaks against them.
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

// descend goes down from the least load known to be too much, where nothing good
// is known yet: to what arrived, if that was less, and else by steps that double.
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

// leap is the ratio of loads above which two of them were not steps of one
// extension: a hint lay between them.
const leap = 1.5

// gap is the next step of an extension: twice what lies between the last two loads
// on the same side, and a narrow one at first.
func (s *Search) gap(t target, last []int) int {
	step := max(1, t.steps>>coarser)
	first, second := last[0], last[len(last)-1]
	if s.grid.load(second) > leap*s.grid.load(first) {
		return step
	}
	return max(step, 2*(second-first))
}

// coarser is how many targets precede a goal's own.
const coarser = 2

// target is a step on the way to a goal: a bracket and evidence to reach.
type target struct {
	Goal                   // with the duration and the sum of this target
	steps int              // of the grid, for the width of this target
	seen  map[int]evidence // by index in the grid
}

// class is what the trials at a load say of it for this target.
func (t target) class(i int) Class { return t.seen[i].class(t.Goal) }

// targets gives the way to g, coarse to fine: each has half the width of the one
// before, the first has single trials of the initial duration, and the seconds of
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
	out[coarser].Goal = g // not what rounding makes of it
	return out
}

// goalState is a goal on its way.
type goalState struct {
	Goal
	targets []target
	near    []int // lower and upper index to begin at; nil begins at the most
}

// final is the goal itself as the last of its targets.
func (g goalState) final() target { return g.targets[len(g.targets)-1] }

// none is no index of the grid.
const none = -1

// bounds are the relevant bounds of a target, as indices; none where there is none.
type bounds struct {
	lower, upper int
	lowers       []int // all loads with this class below the relevant upper bound, ascending
	uppers       []int // all loads with this class, ascending
	above        []int // good loads above the relevant upper bound, ascending
}

// bounds finds the least load that is beyond the target, and the greatest within
// it below that. Good loads above the upper bound are set aside: loss inversion.
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

// reached tells whether nothing is left to do for a target: the bracket is narrow
// enough, or an end of the loads allowed is on the wrong side.
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
	// nearby is the ratio of loads within which another bad load above an upper
	// bound speaks for it, and probe that at which one is looked for.
	nearby = 1.1
	probe  = 1.06

	// believed is the full-length trials that an upper bound takes where the load
	// close above it was good.
	believed = 6
)

// doubt is what a goal still wants measured when its bracket is narrow enough: an
// upper bound that stands alone may be bad luck. Two bad trials of three are rare,
// but a search that looks at many loads below the knee meets them, and would end
// there. So a load close above is tried once; if that is good, the upper bound is
// measured on more trials. What these say decides.
//
// Where one bad trial condemns a load on purpose (exceed ratio 0) there is nothing
// to doubt.
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
