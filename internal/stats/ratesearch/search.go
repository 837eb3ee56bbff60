package ratesearch

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// DefaultMaxTime is the seconds of trials after which a search ends if its configuration
// sets no limit.
const DefaultMaxTime = 1200.0

// Config configures a search.
type Config struct {
	Goals []Goal // at least one; all are searched for together

	// Min and Max bound the loads tried, datagrams/s; 0 < Min <= Max.
	Min, Max float64

	// Near contains the brackets of earlier searches on the same path: [Brackets] of
	// their outcomes. A goal that has one starts there instead of at Max. If a bracket is
	// wrong, by any factor, this costs trials but does not change the result.
	Near []Bracket

	// MaxTime is the maximum seconds of trials, counting only their sending time; 0 means
	// [DefaultMaxTime]. A search that reaches it notes that.
	MaxTime float64
}

// Bracket is the final bracket of a search for a goal, datagrams/s.
type Bracket struct {
	Goal         string // a goal's name
	Lower, Upper float64
}

// Search is one search for the rates of several goals. It is not safe for concurrent use.
type Search struct {
	goals   []goalState
	grid    grid
	maxTime float64

	byLoad  map[int][]Trial // by index in the grid
	loads   []int           // the keys of byLoad, ascending
	spent   float64         // seconds of trials
	ceiling int             // index of the highest load that may be tried
	limited bool            // the sender has lowered the ceiling
	settled int             // the ceiling that a final trial above it has confirmed
	looks   int             // consecutive successful trials above the ceiling
}

// New returns a search without trials. It refuses goals whose evidence could be decided
// by one bad trial, and invalid bounds.
func New(c Config) (*Search, error) {
	if len(c.Goals) == 0 {
		return nil, errors.New("rate search: no goal")
	}
	if !(c.Min > 0 && c.Min <= c.Max) || math.IsInf(c.Max, 0) {
		return nil, fmt.Errorf("rate search: loads from %g to %g datagrams/s: want a minimum above 0 and a maximum not below it", c.Min, c.Max)
	}
	if !(c.MaxTime >= 0) {
		return nil, fmt.Errorf("rate search: %g s of trials at most: want 0 or more", c.MaxTime)
	}
	width, names := math.Inf(1), map[string]bool{}
	for _, g := range c.Goals {
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("rate search: %w", err)
		}
		if names[g.Name] {
			return nil, fmt.Errorf("rate search: two goals are named %q", g.Name)
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

// near returns the indices of the bracket that an earlier search found for g.
func (s *Search) near(g Goal, brackets []Bracket) []int {
	for _, b := range brackets {
		if b.Goal != g.Name || !(b.Lower > 0 && b.Upper >= b.Lower && b.Upper >= s.grid.least && b.Lower <= s.grid.most) {
			continue // another goal, or outside the grid
		}
		lower := min(max(s.grid.below(b.Lower), 0), s.grid.top)
		upper := min(max(s.grid.below(b.Upper), lower+1), s.grid.top)
		return []int{lower, upper}
	}
	return nil
}

// Next is the next trial to run, false if the search has ended. Until the next
// [Search.Add] it returns the same trial: a trial that failed may be repeated or
// abandoned.
func (s *Search) Next() (Request, bool) {
	n, ok := s.nominate()
	if !ok {
		return Request{}, false
	}
	r := Request{Load: s.grid.load(n.load), Duration: n.duration}
	return r, s.spent+r.Duration <= s.maxTime+1e-9
}

// Add takes the result of a trial. The trial's load must be one that the search requested
// or could request; every trial counts for every goal.
func (s *Search) Add(t Trial) error {
	if err := t.check(); err != nil {
		return err
	}
	i, ok := s.grid.index(t.Load)
	if !ok {
		return fmt.Errorf("trial at %.9g datagrams/s: not a load of this search, which uses loads such as %.9g",
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

// limit finds the ceiling: the highest load that the sender can be expected to reach. A
// single trial that fell short may be due to a disturbance: a load is out of reach if two
// or more trials of it fell short, and more than have reached it or a higher one. The
// ceiling below it is the load that was actually sent there, or a greater load that was
// reached.
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

// highest is the greatest load below the n-th that was reached at least as often as not.
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

// above is the load above a ceiling at which a search runs one more trial before it ends
// there: close above it, and farther away each time that succeeds. A sender that was
// disturbed only for a moment then exceeds the ceiling, and the search continues; without
// that, background load of one second would appear as the sender's limit.
func (s *Search) above() (nominee, bool) {
	if !s.limited || s.ceiling < 0 || s.settled == s.ceiling {
		return nominee{}, false
	}
	next := s.grid.below(math.Pow(probe, float64(int(1)<<s.looks)) * s.grid.load(s.ceiling))
	load := min(max(s.ceiling+1, next), s.grid.top)
	return nominee{load, s.goals[0].targets[0].FinalDuration, true}, true
}

// mostLooks bounds how far above the ceiling trials go: 1.06 to the power of 2 to the
// power of this.
const mostLooks = 4

// looked takes the result of a trial above the ceiling.
func (s *Search) looked(t Trial) {
	switch {
	case !t.Limited():
		s.looks = min(s.looks+1, mostLooks)
	case s.looks > 0:
		s.looks = 0 // it was too far above
	default:
		s.settled = s.ceiling
	}
}
