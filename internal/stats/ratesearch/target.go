package ratesearch

import "math"

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
