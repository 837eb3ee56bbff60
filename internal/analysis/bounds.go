package analysis

import (
	"fmt"
	"slices"

	"tare/internal/result"
)

// limited says whether a valid trial has only a lower bound of a metric.
func (t table) limited(mode, workload string, m result.Metric) bool {
	c := t[key{mode, workload}]
	return c != nil && slices.ContainsFunc(c.rows, func(r counted) bool { return r.bounds.Of(m) })
}

// boundVerdict replaces a verdict that a lower bound does not support with cannot_tell, for a
// comparison of more than two values or with an expected ratio. If the ratio may only be
// higher than measured, a verdict that it is high remains; if it may only be lower, one
// that it is low. More blocks would not help.
func boundVerdict(c *result.Judgement, better result.Direction, mayRise, mayFall bool) {
	high, low := result.Better, result.Worse
	if better == result.Lower {
		high, low = result.Worse, result.Better
	}
	if c.Verdict == "" || !mayRise && !mayFall || !mayFall && c.Verdict == high || !mayRise && c.Verdict == low {
		return
	}
	c.Verdict, c.BlocksNeeded = result.CannotTell, nil
}

// levelVerdict replaces a verdict that a lower bound does not support with cannot_tell, for
// two values of the same sender. That they are the same may be the sender's limit. That they
// differ is not: the sender reached more on the other path, so this path's cost, in its
// calls or on its CPU, limits it here, and a faster sender would show a larger difference.
func levelVerdict(c *result.Judgement, limited bool) {
	if limited && (c.Verdict == result.Same || c.Verdict == result.Small || c.Verdict == result.CannotTell) {
		c.Verdict, c.BlocksNeeded = result.CannotTell, nil
	}
}

// noted turns the notes of valid trials into warnings, one for each code, mode and workload,
// with the text of the first.
func (t table) noted(in Input) []result.Warning {
	var out []result.Warning
	for _, w := range in.Workloads {
		for _, m := range in.Modes {
			trials := t.trials(m.ID, w)
			var codes []string
			first, n := map[string]result.Note{}, map[string]int{}
			for _, trial := range trials {
				var seen []string
				for _, note := range trial.Notes {
					if _, known := first[note.Code]; !known {
						first[note.Code] = note
						codes = append(codes, note.Code)
					}
					if !slices.Contains(seen, note.Code) {
						seen = append(seen, note.Code)
						n[note.Code]++
					}
				}
			}
			for _, code := range codes {
				text := first[code].Text
				if len(trials) > 1 {
					text = fmt.Sprintf("%s (first of %d in %d trials)", text, n[code], len(trials))
				}
				out = append(out, result.Warning{Code: code, Scope: scope(m.ID, w), Text: text, Values: first[code].Values})
			}
		}
	}
	return out
}
