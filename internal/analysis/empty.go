package analysis

import (
	"slices"

	"tare/internal/result"
)

// Empty is why a run has nothing to compare although it was to compare modes: none of these, controls left out, was measured
// and has a value. It is "" for every other run, such as one of baselines only. A run that ends so has failed; one of before may say
// that it is complete.
func Empty(run result.Run) string {
	asked := false
	for _, m := range run.Modes {
		if m.Baseline == "" || m.Control {
			continue
		}
		asked = true
		if m.Status == result.ModeMeasured && slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Mode == m.ID && (c.Value != nil || c.Ratio != nil) }) {
			return ""
		}
	}
	if !asked {
		return ""
	}
	return "no mode that is compared with a baseline has a value"
}
