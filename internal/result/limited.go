package result

import (
	"fmt"
	"slices"
)

// limitedAbove is the share of its schedule that a generator may miss before the
// rate it reached is only a lower bound.
const limitedAbove = 0.001

// limited says whether the generator could not keep up in a trial that counts.
func (t table) limited(mode, workload string) bool {
	return slices.ContainsFunc(t[cellKey(mode, workload)], func(tr Trial) bool {
		return tr.GeneratorLimited != nil && *tr.GeneratorLimited > limitedAbove
	})
}

// bounded says whether a metric is a rate, which a slow generator keeps down.
func (m Metric) bounded() bool { return m.Better == Higher && m.Unit != "ratio" }

// bound takes back what a lower bound does not show. If only the mode's own value
// may be higher, so may the ratio: better stands. If only the baseline's may be,
// the ratio may be lower: worse stands. More blocks would not tell more.
func (c *Cell) bound(base bool) {
	if c.Verdict == "" || !c.AtLeast && !base || c.AtLeast && !base && c.Verdict == Better || !c.AtLeast && c.Verdict == Worse {
		return
	}
	c.Verdict, c.BlocksNeeded = CannotTell, nil
}

// noted turns the notes of the trials that count into warnings, one for each code,
// mode and workload, with the text of the first.
func (t table) noted(measured []Mode, workloads []string) []Warning {
	var out []Warning
	for _, w := range workloads {
		for _, m := range measured {
			trials := t[cellKey(m.ID, w)]
			var codes []string
			first, n := map[string]string{}, map[string]int{}
			for _, trial := range trials {
				var seen []string
				for _, note := range trial.Notes {
					if _, known := first[note.Code]; !known {
						first[note.Code] = note.Text
						codes = append(codes, note.Code)
					}
					if !slices.Contains(seen, note.Code) {
						seen = append(seen, note.Code)
						n[note.Code]++
					}
				}
			}
			for _, code := range codes {
				text := first[code]
				if len(trials) > 1 {
					text = fmt.Sprintf("%s (the first of %d among %d trials)", text, n[code], len(trials))
				}
				out = append(out, Warning{code, scope(m.ID, w), text})
			}
		}
	}
	return out
}
