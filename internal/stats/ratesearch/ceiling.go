package ratesearch

import "math"

// limit finds the ceiling: the greatest load that the sender can be expected to
// reach. One trial that fell short says nothing, it may have been a hiccup: a load is
// out of reach if two or more trials of it fell short, and more than have reached it
// or a higher one. Below it, what was sent there is the ceiling, or a greater load
// that was reached.
func (s *Search) limit() {
	s.ceiling, s.limited = s.grid.top, false
	reached := 0 // trials at this load and above
	for n := len(s.loads) - 1; n >= 0; n-- {
		i, short, best := s.loads[n], 0, 0.0
		for _, t := range s.byLoad[i] {
			if !t.Limited() {
				reached++
				continue
			}
			short++
			best = max(best, float64(t.Sent)/t.Duration)
		}
		if short >= 2 && short > reached {
			s.limited = true
			s.ceiling = min(s.ceiling, i-1, max(s.grid.below(best), s.highest(n)))
		}
	}
}

// highest is the greatest load below the n-th that was reached as often as not.
func (s *Search) highest(n int) int {
	for n--; n >= 0; n-- {
		short := 0
		for _, t := range s.byLoad[s.loads[n]] {
			if t.Limited() {
				short++
			}
		}
		if 2*short <= len(s.byLoad[s.loads[n]]) {
			return s.loads[n]
		}
	}
	return none
}

// above is the load above a ceiling at which a search looks once more before it ends
// there: close above it, and ever farther as long as that goes well. A sender that was
// disturbed for a moment gets beyond it, and the search goes on: without that, a
// neighbour's busy second would pass for the sender's limit.
func (s *Search) above() (nominee, bool) {
	if !s.limited || s.ceiling < 0 || s.settled == s.ceiling {
		return nominee{}, false
	}
	next := s.grid.below(math.Pow(probe, float64(int(1)<<s.looks)) * s.grid.load(s.ceiling))
	load := min(max(s.ceiling+1, next), s.grid.top)
	return nominee{load, s.goals[0].targets[0].FinalDuration, true}, true
}

// mostLooks bounds how far a look goes: 1.06 to the power of 2 to the power of this.
const mostLooks = 4

// looked takes what a look above the ceiling gave.
func (s *Search) looked(t Trial) {
	switch {
	case !t.Limited():
		s.looks = min(s.looks+1, mostLooks)
	case s.looks > 0:
		s.looks = 0 // it went too far
	default:
		s.settled = s.ceiling
	}
}
