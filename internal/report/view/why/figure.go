package why

import (
	"math"
	"strings"

	"tare/internal/report/chart"
)

// The colours of a waterfall.
const (
	keyBaseline = iota
	keyCosts
	keySaves
	keyRest
	keyBeyond
	keyWhole
)

// Figure draws a cost as a waterfall: each bar begins where the one before it ends.
func (c partCosts) Figure() (chart.Figure, bool) {
	if c.Whole == nil || c.Baseline == nil || len(c.Steps) == 0 {
		return chart.Figure{}, false
	}
	base := c.scale.In(c.Baseline.Value)
	panel := chart.Panel{Title: c.title + ", " + c.unit(), Axis: chart.Axis{Zero: true}}
	add := func(label, note string, from, v float64, key int) {
		gap := min(from, from+v)
		panel.Rows = append(panel.Rows, chart.Row{Label: label, Note: note, Parts: []chart.Part{{Key: chart.Gap, Value: gap}, {Key: key, Value: math.Abs(v), Tip: label + ": " + note, Plain: true}}})
	}
	add(c.Steps[0].Without, c.scale.Number(c.Baseline.Value), 0, base, keyBaseline)
	at, total := base, false
	whole := func() {
		add(c.mode, strings.TrimSpace(c.scale.Number(c.Baseline.Value+c.Whole.Value)), 0, base+c.scale.In(c.Whole.Value), keyWhole)
		total = true
	}
	var words []string
	for _, s := range c.Steps {
		if s.Beyond && !total {
			whole()
		}
		if s.Cost == nil {
			continue
		}
		value, interval := c.signed(s.Cost)
		v, key := c.scale.In(s.Cost.Value), keyCosts
		switch {
		case s.Beyond:
			key = keyBeyond
		case s.Rest:
			key = keyRest
		case v < 0:
			key = keySaves
		}
		add(stepName(s), strings.TrimSpace(value+" "+interval), at, v, key)
		words = append(words, stepName(s)+" "+value)
		at += v
	}
	if !total {
		whole()
	}
	return chart.Figure{
		Title: c.Workload + ": " + c.title + " of " + c.mode + ", by part", Desc: strings.Join(words, ", ") + " " + c.unit(),
		Legend: "Each part begins where the one before it ends; its cost and 95 % interval are beside it. A part below the whole mode comes on top of it.",
		Panels: []chart.Panel{panel},
	}, true
}
