package ratesearch

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// DefaultMaxTime is the seconds of trials after which a search ends where its
// configuration says nothing.
const DefaultMaxTime = 1200.0

// Config is what a search is asked.
type Config struct {
	Goals []Goal // at least one; all are searched for together

	// Min and Max bound the loads tried, datagrams/s; 0 < Min <= Max.
	Min, Max float64

	// Near is where earlier searches on the same path ended: [Brackets] of their
	// outcomes. A goal that has one begins there instead of at Max. A bracket may
	// be wrong, by any factor: that costs trials, and changes no answer.
	Near []Bracket

	// MaxTime is the most seconds of trials, what they take beside sending not
	// counted; 0 means [DefaultMaxTime]. A search that it cuts short says so.
	MaxTime float64
}

// Bracket is where a search for a goal ended, datagrams/s.
type Bracket struct {
	Goal         string // a goal's name
	Lower, Upper float64
}

// Search is one search for the rates of several goals. It is not safe for use by
// several goroutines at once.
type Search struct {
	goals   []goalState
	grid    grid
	maxTime float64

	byLoad  map[int][]Trial // by index in the grid
	loads   []int           // the keys of byLoad, ascending
	spent   float64         // seconds of trials
	ceiling int             // index of the greatest load that may be tried
	limited bool            // the sender has lowered the ceiling
	settled int             // the ceiling that a last look above it has confirmed
	looks   int             // looks above the ceiling that went well, one after the other
}

// New is a search that has made no trial yet. It refuses goals without evidence
// enough to survive one bad trial, and bounds that are none.
func New(c Config) (*Search, error) {
	if len(c.Goals) == 0 {
		return nil, errors.New("search for a rate: no goal")
	}
	if !(c.Min > 0 && c.Min <= c.Max) || math.IsInf(c.Max, 0) {
		return nil, fmt.Errorf("search for a rate: loads from %g to %g datagrams/s: want the least above 0 and the most no less", c.Min, c.Max)
	}
	if !(c.MaxTime >= 0) {
		return nil, fmt.Errorf("search for a rate: %g s of trials at most: want 0 or more", c.MaxTime)
	}
	width, names := math.Inf(1), map[string]bool{}
	for _, g := range c.Goals {
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("search for a rate: %w", err)
		}
		if names[g.Name] {
			return nil, fmt.Errorf("search for a rate: two goals are named %q", g.Name)
		}
		names[g.Name] = true
		width = min(width, g.Width)
	}
	s := &Search{grid: newGrid(c.Min, c.Max, width), maxTime: c.MaxTime, byLoad: map[int][]Trial{}}
	if s.maxTime == 0 {
		s.maxTime = DefaultMaxTime
	}
	s.ceiling, s.settled = s.grid.top, none
	for _, g := range c.Goals {
		s.goals = append(s.goals, goalState{Goal: g, targets: targets(g, s.grid), near: s.near(g, c.Near)})
	}
	return s, nil
}

// near gives the indices of the bracket that an earlier search left for g.
func (s *Search) near(g Goal, brackets []Bracket) []int {
	for _, b := range brackets {
		if b.Goal != g.Name || !(b.Lower > 0 && b.Upper >= b.Lower && b.Upper >= s.grid.least && b.Lower <= s.grid.most) {
			continue // none of this goal, or nowhere near
		}
		lower := min(max(s.grid.below(b.Lower), 0), s.grid.top)
		upper := min(max(s.grid.below(b.Upper), lower+1), s.grid.top)
		return []int{lower, upper}
	}
	return nil
}

// Next is the trial to make now, false where the search has ended. Asked again
// before the next [Search.Add] it says the same: a trial that failed may be made
// again, or left.
func (s *Search) Next() (Request, bool) {
	n, ok := s.nominate()
	if !ok {
		return Request{}, false
	}
	r := Request{Load: s.grid.load(n.load), Duration: n.duration}
	return r, s.spent+r.Duration <= s.maxTime+1e-9
}

// Add takes what a trial gave. The trial's load must be one that the search asked
// for or could ask for; every trial counts for every goal, whoever asked for it.
func (s *Search) Add(t Trial) error {
	if err := t.check(); err != nil {
		return err
	}
	i, ok := s.grid.index(t.Load)
	if !ok {
		return fmt.Errorf("trial at %.9g datagrams/s: no load of this search, which tries %.9g and the like",
			t.Load, s.grid.load(max(0, s.grid.below(t.Load))))
	}
	n, asked := s.nominate()
	if at, seen := slices.BinarySearch(s.loads, i); !seen {
		s.loads = slices.Insert(s.loads, at, i)
	}
	for _, g := range s.goals {
		for _, target := range g.targets {
			target.seen[i] = target.seen[i].with(target.Goal, t)
		}
	}
	s.byLoad[i] = append(s.byLoad[i], t)
	s.spent += t.Duration
	if asked && n.look && n.load == i {
		s.looked(t)
	}
	s.limit()
	return nil
}

// Spent is the seconds of the trials so far.
func (s *Search) Spent() float64 { return s.spent }

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
