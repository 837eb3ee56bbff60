package report

import (
	"cmp"
	"slices"
)

// The most that one chart draws; what it leaves out its caption says.
const (
	mostDots  = 150 // of a row, in a chart of dots
	mostSpots = 600 // of all lanes of a strip or of a curve of loss
	mostSlots = 60  // of a lane's time
	mostLog   = 600 // rows of a table of trials
)

// thinned are at most so many of all, evenly: the first and the last are among them.
func thinned[T any](all []T, most int) []T {
	if len(all) <= most || most < 2 {
		return all
	}
	out := make([]T, 0, most)
	for i := range most {
		out = append(out, all[i*(len(all)-1)/(most-1)])
	}
	return out
}

// fewer are at most mostDots points of a row, evenly by rank, so that the shape of the
// cloud and its ends stay; those that were ruled out give way last.
func fewer(all []point) []point {
	if len(all) <= mostDots {
		return all
	}
	var out []point
	in := make([]point, 0, len(all))
	for _, p := range all {
		if p.out() {
			out = append(out, p)
		} else {
			in = append(in, p)
		}
	}
	slices.SortFunc(in, func(a, b point) int { return cmp.Or(cmp.Compare(a.value, b.value), a.trial.Seq-b.trial.Seq) })
	out = thinned(out, mostDots/2)
	return append(thinned(in, mostDots-len(out)), out...)
}
