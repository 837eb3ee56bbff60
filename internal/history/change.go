package history

import (
	"math"

	"tare/internal/result"
	"tare/internal/stats/changepoint"
)

// seed is that of the permutations: with one seed a history always has the same change points.
const seed = 22

// change finds the change points of one of so many series, each tested at a level, and the
// spread within the stretches between them. The p value of a change is that over all series.
func change(s *result.HistorySeries, level float64, tests int) {
	ys := make([]float64, len(s.Points))
	for i, p := range s.Points {
		ys[i] = math.Log(p.Ratio)
	}
	found := changepoint.Find(ys, level, seed)
	stretches := divided(ys, found)
	for i, c := range found {
		before, after := mean(stretches[i]), mean(stretches[i+1])
		s.Changes = append(s.Changes, result.ChangePoint{
			Point: c.At, Before: math.Exp(before), After: math.Exp(after),
			P: math.Min(1, c.P*float64(tests)), Worse: (after < before) == (s.Better == result.Higher),
		})
	}
	if sd, df := spread(stretches); len(ys) >= minSpread && df > 0 {
		s.Spread = &sd
	}
}

// minSpread is the minimum number of runs for a spread.
const minSpread = 3

// divided splits a series at its changes.
func divided(ys []float64, found []changepoint.Change) [][]float64 {
	var out [][]float64
	from := 0
	for _, c := range found {
		out = append(out, ys[from:c.At])
		from = c.At
	}
	return append(out, ys[from:])
}

// spread is the standard deviation within stretches, with its degrees of freedom.
func spread(stretches [][]float64) (sd float64, df int) {
	sum := 0.0
	for _, ys := range stretches {
		m := mean(ys)
		for _, y := range ys {
			sum += (y - m) * (y - m)
		}
		df += max(0, len(ys)-1)
	}
	if df == 0 {
		return 0, 0
	}
	return math.Sqrt(sum / float64(df)), df
}

func mean(ys []float64) float64 {
	sum := 0.0
	for _, y := range ys {
		sum += y
	}
	return sum / float64(len(ys))
}
