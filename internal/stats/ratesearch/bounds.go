package ratesearch

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
