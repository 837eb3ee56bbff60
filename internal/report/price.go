package report

import (
	"strings"

	"tare/internal/report/say"
	"tare/internal/result"
)

// price is what a mode costs in CPU beside its baseline, with the clause that says so.
type price struct {
	row  row
	text string
}

// priceOf finds the cost that stands for a mode: that at the fixed rate, else that of
// the first workload that carries data. False where there is none.
func (v view) priceOf(mode string, s *sentence) (price, bool) {
	var bills []bill
	at := ""
	if p := v.Evidence.Pass; p != nil && p.Bill != nil {
		bills = append(bills, *p.Bill)
		if p.Rate != "" {
			at = " at " + p.Rate
		}
	}
	for i, b := range append(bills, v.Evidence.Bills...) {
		r, ok := b.Cost.of(mode)
		if !ok || r.Cell == nil || unmeasured(r.Mode) || r.Mode.Control {
			continue
		}
		if i >= len(bills) {
			at = ""
			if len(v.Evidence.Bills) > 1 {
				at = " in " + b.Workload
			}
		}
		if text := s.priced(b.Cost, *r.Cell); text != "" {
			return price{r, text + at}, true
		}
	}
	return price{}, false
}

// priced words a cell of CPU cost as the last clause of a sentence; empty where there
// is nothing to be said of it.
func (s *sentence) priced(t table, c result.Cell) string {
	switch {
	case c.Ratio == nil && c.Baseline == "" && c.Value != nil:
		return "CPU cost " + valueOf(t, c)
	case c.Ratio == nil:
		return ""
	case c.Verdict == result.Worse || c.Verdict == result.Better:
		return "costs " + say.Ratio(c.Ratio, c.RatioCI) + " " + say.Of(*c.Ratio) + " " + s.baseline(c.Baseline, "'s", "its") + " CPU" + per(t)
	case c.Verdict == result.Same && c.Margin > 0:
		return "costs the same CPU" + per(t) + " within " + say.Percent(c.Margin)
	case c.Verdict == result.Small && c.Margin > 0:
		return "costs " + say.Ratio(c.Ratio, c.RatioCI) + " " + say.Of(*c.Ratio) + " " + s.baseline(c.Baseline, "'s", "its") + " CPU" + per(t) + ", a difference of less than " + say.Percent(c.Margin)
	case c.Verdict == result.CannotTell:
		return "cannot be told from " + s.baseline(c.Baseline, "", "it") + " by CPU cost" + because(c)
	}
	return ""
}

// per says what a cost is paid for: " per Gbit".
func per(t table) string {
	_, of, ok := strings.Cut(t.Metric.Unit, "/")
	if !ok {
		return ""
	}
	return " per " + of
}

// leads say what separates modes that all reach the limit of the link.
func leads(v view) []string {
	var out []string
	for _, l := range v.Run.LinkLimited {
		text := "All modes reach the link's limit in " + l.Workload
		if l.Link > 0 {
			text += " (" + say.Value(l.Link, "bit/s") + ")"
		}
		var costs []string
		for _, m := range v.Run.Modes {
			if unmeasured(m) || m.Baseline == "" || m.Control {
				continue
			}
			s := sentence{}
			if p, ok := v.priceOf(m.ID, &s); ok {
				costs = append(costs, m.ID+" "+p.text)
			}
		}
		if len(costs) == 0 {
			out = append(out, text+", so that goodput does not tell them apart; nothing is known of what they cost in CPU.")
			continue
		}
		out = append(out, text+": what separates them is CPU. "+strings.Join(costs, "; ")+".")
	}
	return out
}
