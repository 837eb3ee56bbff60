package report

import (
	"math"
	"slices"
	"strings"

	"tare/internal/report/say"
	"tare/internal/result"
)

// pass is the fixed-rate pass: every mode at one and the same rate.
type pass struct {
	workload
	Bill *bill  // nil where it has none
	Text string // at which rate, and why at that; or why there is none
	Rate string // "4.20 Gbit/s"; empty where it is not known
}

// billed are the tables of what it cost; carried are the others, alike by design.
func (p pass) billed() []table { return tablesOf(p.Tables, billed) }
func (p pass) carried() []table {
	return tablesOf(p.Tables, func(m result.Metric) bool { return !billed(m) })
}

func tablesOf(of []table, is func(result.Metric) bool) []table {
	return slices.DeleteFunc(slices.Clone(of), func(t table) bool { return !is(t.Metric) })
}

func newPass(c *result.CostPass, w workload) pass {
	p := pass{workload: w, Text: "Every mode was offered the same rate"}
	if b, ok := newBill(w); ok {
		p.Bill = &b
	} else if w.ID != "" && w.Empty == "" {
		p.Empty = "None of its trials counts with a bill; why is among the trials that do not count, and the warnings."
	}
	const why = ": CPU use at different speeds cannot be compared, at the same it can."
	switch {
	case c == nil:
		p.Text += why
	case c.Missing != "":
		p.Text = "No pass at a fixed rate: " + strings.TrimRight(c.Missing, ".") + "."
	case c.Rate <= 0 && w.ID == "":
		p.Text = "The pass at a fixed rate was not reached."
	case !(c.Rate > 0) || math.IsInf(c.Rate, 0):
		p.Text += why
	default:
		p.Rate = say.Value(c.Rate, "bit/s")
		p.Text = "Every mode was offered " + p.Rate
		if c.Of != "" {
			p.Text += ", half the goodput of the slowest (" + c.Of + ")"
		}
		p.Text += why
	}
	return p
}
