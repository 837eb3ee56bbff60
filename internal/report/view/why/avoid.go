package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/result"
)

// mostAvoided is how many parts the first screen of a terminal says how to avoid.
const mostAvoided = 4

// avoidable are what gets the costs back that are shown, the largest first.
func (c partCosts) avoidable(l *result.CostByParts) []doc.Note {
	steps := slices.DeleteFunc(slices.Clone(c.Steps), func(s result.PartCost) bool {
		return s.Cost == nil || s.Verdict != result.Worse || avoid(l, s.Parts) == "" || c.missed(s.Parts)
	})
	slices.SortStableFunc(steps, func(x, y result.PartCost) int { return cmp.Compare(y.Cost.Value, x.Cost.Value) })
	var out []doc.Note
	for _, s := range steps[:min(len(steps), mostAvoided)] {
		value, _ := c.signed(s.Cost)
		out = append(out, doc.Note{About: s.Parts, Text: fmt.Sprintf("to get back %s %s, %s.", strings.TrimPrefix(value, "+"), c.unit(), avoid(l, s.Parts))})
	}
	return out
}

// missed reports whether the mode was slower without one of the parts, so that nothing comes back with its end.
func (c partCosts) missed(parts []string) bool {
	return slices.ContainsFunc(c.Removals, func(r result.PartCost) bool {
		return r.Verdict == result.Better && slices.ContainsFunc(r.Parts, func(p string) bool { return slices.Contains(parts, p) })
	})
}

// avoid is what gets the cost of parts back, from the cost by parts of the run.
func avoid(l *result.CostByParts, parts []string) string {
	return ofParts(l, parts, func(r result.PartMode) string { return r.Avoid })
}

// ofParts is what the modes and removals of a cost by parts say of parts, each text once.
func ofParts(l *result.CostByParts, parts []string, say func(result.PartMode) string) string {
	var out []string
	for _, r := range slices.Concat(l.Modes, l.Removals) {
		if text := say(r); slices.Contains(parts, r.Part) && text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}
