package ratesearch

import "math"

// grid is the loads that a search may try: from the minimum to the maximum, evenly spaced
// in the logarithm, the first and the last included. On it brackets halve exactly and the goals of a
// search measure the same loads.
type grid struct {
	least, most float64
	top         int // index of most; least has 0
}

// newGrid creates steps no wider than width, relative to their upper end.
func newGrid(least, most, width float64) grid {
	top := math.Ceil(math.Log(most/least)/-math.Log1p(-width) - 1e-9)
	return grid{least, most, max(0, int(top))}
}

// load is the rate at index i, datagrams/s.
func (g grid) load(i int) float64 {
	switch {
	case i <= 0:
		return g.least
	case i >= g.top:
		return g.most
	}
	return g.least * math.Exp(math.Log(g.most/g.least)*float64(i)/float64(g.top))
}

// at is the position of load, in steps above the minimum; negative below it.
func (g grid) at(load float64) float64 {
	if g.top == 0 {
		return math.Log(load / g.least) // the scale does not matter
	}
	return math.Log(load/g.least) / math.Log(g.most/g.least) * float64(g.top)
}

// below is the index of the greatest load that is not above load, -1 if the minimum is.
func (g grid) below(load float64) int {
	if !(load > 0) {
		return -1
	}
	return max(-1, min(g.top, int(math.Floor(g.at(load)+1e-6))))
}

// index is the index of a load of the grid, up to rounding; false for another load.
func (g grid) index(load float64) (int, bool) {
	i := int(math.Round(g.at(load)))
	if i < 0 || i > g.top {
		return 0, false
	}
	return i, math.Abs(load/g.load(i)-1) < 1e-6
}

// steps is how many steps a bracket of this relative width spans.
func (g grid) steps(width float64) int {
	if g.top == 0 {
		return 1
	}
	step := math.Log(g.most/g.least) / float64(g.top)
	return max(1, int(math.Floor(-math.Log1p(-width)/step+1e-9)))
}
