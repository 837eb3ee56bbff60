package report

import (
	"fmt"

	"tare/internal/report/say"
)

// methodText says in short how the figures came about.
func methodText(v view) []string {
	if v.Run.Source != "" {
		return nil
	}
	text := "A trial gives one number. A block holds every mode once, its baseline among them, in an order drawn from the seed. " +
		"A ratio is the geometric mean, over the blocks, of a mode's trial to its baseline's, with the 95 % interval that Student's t gives the paired logarithms. "
	if m := marginOf(v); m > 0 {
		text += fmt.Sprintf("Modes are the same where two one-sided tests show the ratio to be within %s; ", say.Percent(m))
	} else {
		text += "Modes are the same where two one-sided tests show the ratio to be within the margin; "
	}
	return []string{text + "probabilities are adjusted over the modes by Holm's method. What shows neither cannot be told, and how many more blocks it would take is a forecast."}
}

// marginOf is the margin of a run's verdicts, 0 where there are none or several.
func marginOf(v view) float64 {
	m := 0.0
	for _, c := range v.Run.Cells {
		switch {
		case c.Margin <= 0:
		case m == 0:
			m = c.Margin
		case m != c.Margin:
			return 0
		}
	}
	return m
}

// htmlCommand is a command with what it does.
type htmlCommand struct{ Text, Line string }

// commandsOf are the commands to repeat a run and to look at it again.
func commandsOf(v view) []htmlCommand {
	if v.Command == "" {
		return nil
	}
	if v.Run.Source != "" {
		return []htmlCommand{{"The same numbers, judged once more:", v.Command}}
	}
	out := []htmlCommand{{"The same study with the same seed, so the same trials in the same order:", v.Command}}
	if v.Run.ID == "" {
		return out
	}
	return append(out,
		htmlCommand{"In the directory of this run, from its own copy of the study, with every default written out:", "tare run study.yaml"},
		htmlCommand{"And whether the two say the same:", "tare compare . OTHER-RUN"})
}

// mostLostRows is how many trials that do not count a page tells of one by one.
const mostLostRows = 200

// fewLost cuts the list of those, and says so.
func fewLost[T any](all []T) (some []T, more string) {
	if len(all) <= mostLostRows {
		return all, ""
	}
	return all[:mostLostRows], fmt.Sprintf("The first %d of %d; trials.ndjson has all.", mostLostRows, len(all))
}
