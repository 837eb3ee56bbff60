package why

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// partCosts is the cost of the parts in one metric, ready to be written.
type partCosts struct {
	result.PartCosts
	mode  string
	title string // of the cost, such as "time per transaction"
	scale wording.Scale
}

// Costs are those of a run, the main metric of each workload first.
func Costs(run result.Run) []partCosts {
	if run.CostByParts == nil {
		return nil
	}
	var out []partCosts
	for _, c := range run.CostByParts.Costs {
		values := []float64{}
		for _, a := range []*result.Amount{c.Baseline, c.Whole} {
			if a != nil {
				values = append(values, a.Value)
			}
		}
		l := partCosts{PartCosts: c, mode: run.CostByParts.Mode, scale: wording.ScaleFor(c.Unit, values...)}
		_, unit, _ := strings.Cut(piece.Each1000.Replace(c.Unit), "/")
		l.title = "time per " + unit
		if strings.HasPrefix(c.Metric, result.CPUCost) {
			l.title = "CPU time per " + unit
		}
		out = append(out, l)
	}
	return out
}

// unit is the scale's unit as people write it. The title says of what it is the time.
func (c partCosts) unit() string {
	unit, _, _ := strings.Cut(piece.Each1000.Replace(c.scale.Unit), "/")
	return unit
}

// signed writes an amount with its sign, with as many digits as its interval supports.
func (c partCosts) signed(a *result.Amount) (value, interval string) {
	if a == nil {
		return wording.Unknown, ""
	}
	v, digits := c.scale.In(a.Value), c.digits(a)
	write := func(v float64) string {
		text := wording.Fixed(v, digits)
		if v > 0 {
			return "+" + text
		}
		return text
	}
	if a.CI == nil {
		return write(v), ""
	}
	lo, hi := c.scale.In(a.CI[0]), c.scale.In(a.CI[1])
	return write(v), "(" + write(min(lo, hi)) + " .. " + write(max(lo, hi)) + ")"
}

// digits is how many decimals of an amount its interval supports.
func (c partCosts) digits(a *result.Amount) int {
	half := math.Abs(c.scale.In(a.Value)) / 10
	if a.CI != nil {
		half = c.half(a)
	}
	if !(half > 0) {
		return 3
	}
	return min(3, max(0, -int(math.Floor(math.Log10(half)))))
}

// half is half of an amount's interval, which is symmetric.
func (c partCosts) half(a *result.Amount) float64 {
	return math.Abs(c.scale.In(a.CI[1])-c.scale.In(a.CI[0])) / 2
}

// removed says in words what the mode is without a part that costs an amount.
func (c partCosts) removed(a *result.Amount) (change, interval string) {
	if a == nil {
		return wording.Unknown, ""
	}
	v, digits := c.scale.In(a.Value), c.digits(a)
	text, less, more := wording.Fixed(math.Abs(v), digits), "faster", "slower"
	if strings.HasPrefix(c.Metric, result.CPUCost) {
		less, more = "less", "more"
	}
	switch {
	case text == wording.Fixed(0, digits):
		change = "no change"
	case v > 0:
		change = text + " " + c.unit() + " " + less
	default:
		change = text + " " + c.unit() + " " + more
	}
	if a.CI != nil {
		interval = "±" + wording.Fixed(c.half(a), digits)
	}
	return change, interval
}

// stepName is the parts of a step, as a row names it.
func stepName(s result.PartCost) string {
	text := strings.Join(s.Parts, ", ")
	if s.Rest {
		text += rest
	}
	return text
}

// rest marks a step that no part explains.
const rest = " (rest)"

// ofBaseline is a step's part of the baseline, in words.
func ofBaseline(s result.PartCost) string {
	if s.Share == nil {
		return wording.Unknown
	}
	return wording.Change(1 + *s.Share)
}

// judgedStep is a step as a cell that holds its verdict.
func judgedStep(s result.PartCost) result.Cell {
	return result.Cell{Judgement: result.Judgement{Ratio: s.Ratio, RatioCI: s.RatioCI, Verdict: s.Verdict}, Baseline: s.Without}
}

// interaction says by how much the two orders differ.
func (c partCosts) interaction(s result.PartCost) string {
	value, interval := c.signed(s.Interaction)
	return fmt.Sprintf("in %s of %s, adding it and removing it differ by %s %s %s", c.title, c.Workload, value, c.unit(), interval)
}
