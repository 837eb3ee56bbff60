package ratesearch

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
