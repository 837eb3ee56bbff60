package ratesearch

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
