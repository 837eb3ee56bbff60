package ratesearch

// nominee is a trial that a goal asks for.
type nominee struct {
	load     int // index
	duration float64
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
	return best, found
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
			load = refine(t, b, before)
		}
		// The ceiling may have come down below a bracket measured earlier.
		return nominee{min(load, s.ceiling), t.FinalDuration}, true
	}
	return nominee{}, false
}

// refine works within the bracket of the target before: it halves it if it is too
// wide, and else measures its lower and then its upper end on this target's
// evidence. What turns out otherwise is undone in the target before, which is then
// no longer reached.
func refine(t target, b, before bounds) int {
	switch {
	case before.lower != none && before.upper != none && before.upper-before.lower > t.steps:
		return split(before.lower, before.upper, t.steps)
	case before.lower != none && before.lower != b.lower:
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
		// Nothing good yet: what arrived is the first place to look, and steps that
		// double lead down from there.
		if hint := s.grid.below(s.hint / (1 - g.LossRatio)); len(b.uppers) == 1 && hint >= 0 && hint < b.upper {
			return hint
		}
		return max(0, b.upper-gap(t, b.uppers[:min(2, len(b.uppers))]))
	}
	next := b.lower + gap(t, b.lowers[max(0, len(b.lowers)-2):])
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

// gap is the next step of an extension: twice what lies between the last two loads
// on the same side, and a narrow one at first.
func gap(t target, last []int) int {
	return max(2*(last[len(last)-1]-last[0]), t.steps/4, 1)
}
