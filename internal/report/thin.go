package report

import (
	"cmp"
	"slices"

	"tare/internal/report/chart"
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

// fewer are at most mostDots dots of a row, evenly by rank, so that the shape of the
// cloud and its ends stay; those that were ruled out give way last.
func fewer(dots []chart.Dot) []chart.Dot {
	if len(dots) <= mostDots {
		return dots
	}
	var in, out []chart.Dot
	for _, d := range dots {
		if d.Out {
			out = append(out, d)
		} else {
			in = append(in, d)
		}
	}
	slices.SortStableFunc(in, func(a, b chart.Dot) int { return cmp.Compare(a.X, b.X) })
	out = thinned(out, mostDots/2)
	return append(thinned(in, mostDots-len(out)), out...)
}
