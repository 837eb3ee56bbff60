package section

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/unit"
	"tare/internal/wording"
)

// setupLegend says what the times are.
const setupLegend = "From when the server's sandbox begins to be made, each set-up one value: the median and the 90th percentile with their 95 % intervals by order statistics. A limit that so few set-ups do not have is unknown."

// SetupTimes are the percentiles of the times of set-ups, by workload and mode.
func SetupTimes(b *model.Builder) []doc.Block {
	l := doc.List{Tight: true}
	for _, text := range setupItems(b.View) {
		l.Items = append(l.Items, doc.Item{Text: text})
	}
	if len(l.Items) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "setup-times", Head: doc.Heading{Text: "How long a set-up takes"}, Nav: "Set-up", Blocks: []doc.Block{doc.Paragraph{Text: setupLegend}, l}}}
}

// setupItems has a line for each workload and mode.
func setupItems(v model.View) (items []string) {
	all := piece.Ordered(v.Modes, v.Run.SetupTimes, func(s result.SetupTime) string { return s.Mode })
	for _, id := range piece.WorkloadsIn(v.Run.SetupTimes, func(s result.SetupTime) string { return s.Workload }) {
		var first result.SetupTime // of the current mode
		for _, s := range all {
			what := cmp.Or(s.Step, setupParts()[s.Metric])
			if s.Workload != id || what == "" || s.Metric == result.SetupOwn && s.P90.Value == 0 { // a driver that searches meanwhile has no part of its own
				continue
			}
			of := ", " + unit.Count(s.Setups, "set-up", "set-ups")
			text := " " + percentileText(s.P50) + ", 90th percentile " + percentileText(s.P90)
			if s.Mode != first.Mode {
				first, items = s, append(items, id+", "+s.Mode+of+": "+what+text)
				continue
			}
			if s.Setups == first.Setups {
				of = ""
			}
			items[len(items)-1] += "; " + what + of + text
		}
		for _, g := range v.Run.SetupGrowths {
			if g.Workload == id {
				items = append(items, growthText(g))
			}
		}
	}
	return items
}

// setupParts are the metrics of a set-up in a few words.
func setupParts() map[string]string {
	return map[string]string{
		result.SetupSandbox: "sandbox exists", result.SetupConnect: "SYN answered", result.SetupFirstByte: "first byte", result.SetupFirst200: "response 200", result.SetupOwn: "tare's own part",
	}
}

// growthText is how set-ups take longer with the number in which variants differ.
func growthText(g result.SetupGrowth) string {
	numbers := make([]string, len(g.Numbers))
	for i, n := range g.Numbers {
		numbers[i] = strconv.Itoa(n)
	}
	scale := wording.ScaleFor("s", max(math.Abs(g.Low), math.Abs(g.High)))
	return fmt.Sprintf("%s, %s: %s %s (%s to %s) later for each 100 %s, the slope of Theil and Sen over %s with %s", g.Workload, strings.Join(g.Modes, ", "),
		setupParts()[g.Metric], scale.Value(g.Per100), scale.Number(g.Low), scale.Number(g.High), g.Setting, unit.Count(g.Setups, "set-up", "set-ups"), strings.Join(numbers, ", "))
}

// percentileText is a percentile with its interval.
func percentileText(p result.Percentile) string {
	if !piece.Finite(&p.Value) {
		return wording.Unknown
	}
	scale := wording.ScaleFor("s", p.Value)
	limit := func(v *float64) string {
		if !piece.Finite(v) {
			return "unknown"
		}
		return scale.Number(*v)
	}
	return scale.Value(p.Value) + " (" + limit(p.Low) + " to " + limit(p.High) + ")"
}
