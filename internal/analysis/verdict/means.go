package verdict

import (
	"tare/internal/result"
	"tare/internal/stats"
)

// MeanRatio is a mean of ratios over several runs, with N units, such as machines. MayRise and MayFall say that the true ratio may
// be above or below it, because a value in it is a lower bound.
type MeanRatio struct {
	Ratio            stats.LogRatio
	Better           result.Direction
	MayRise, MayFall bool
}

// JudgeMeans judges means of one workload and metric together, as modes of one run are: the cells have the ratio, its interval, the
// adjusted p, the verdict, and the further units that are needed as BlocksNeeded.
func JudgeMeans(of []MeanRatio, margin float64) []result.Cell {
	cells := make([]result.Cell, len(of))
	family := make([]Judged, len(of))
	for i, m := range of {
		cells[i].Better, cells[i].Verdict = m.Better, result.CannotTell
		family[i] = Judged{Into: &cells[i].Judgement, Better: m.Better, Ratio: m.Ratio, MayRise: m.MayRise, MayFall: m.MayFall}
	}
	JudgeFamily(family, Rule{Margin: margin})
	return cells
}
