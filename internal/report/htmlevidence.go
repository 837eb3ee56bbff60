package report

import (
	"fmt"
	"html/template"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/result"
)

// htmlEvidence is what a run found beside its figures.
type htmlEvidence struct {
	Lead       []string
	Costs      bool // there is a section about CPU
	Legend     string
	Bills      []htmlBill
	Pass       *htmlPass
	Breakdowns []htmlBreakdown
	Losses     []htmlLosses
	Limits     []htmlLimits

	LossLegend, LimitLegend string
	LimitNames              []string
}

// htmlBill is the bill of a workload.
type htmlBill struct {
	Tables          []htmlTable
	Processes       []processes
	ProcessesLegend string
}

// htmlPass is the fixed-rate pass.
type htmlPass struct {
	Text, Empty string
	Bill        htmlBill
	Carried     []htmlTable
	Log         *htmlLog
}

// htmlBreakdown is where the CPU time of a workload went.
type htmlBreakdown struct {
	Anchor, Workload, Title, Caption, Unknown string
	Missing, Folded                           []string
	Keys                                      []htmlKey
	Figures                                   []template.HTML
	Heads                                     []htmlHead
	Rows                                      []htmlComponent
}

// htmlKey is a colour of the figure with its name.
type htmlKey struct {
	Key  int
	Name string
}

// htmlHead is a mode; Beside is its baseline, empty for none.
type htmlHead struct{ Name, Beside string }

// htmlComponent is a row; Sum says that it is the last.
type htmlComponent struct {
	Name  string
	Sum   bool
	Cells []htmlSpent
}

// htmlSpent is a component in one mode.
type htmlSpent struct {
	Value, CI, Diff    string
	Beside, More, Less bool
}

// htmlLosses is where the datagrams of a workload died.
type htmlLosses struct {
	Anchor, Workload string
	Modes            []htmlLost
	Missing          []string
}

type htmlLost struct {
	Mode, Whole, Reasons string
	Lines                []htmlPlace
}

type htmlPlace struct {
	lossPlace
	Part string
}

// htmlLimits is who limited TCP in a workload.
type htmlLimits struct {
	Anchor, Workload string
	Rows             []htmlLimit
	Missing          []string
}

type htmlLimit struct {
	Name, Retransmits string
	Shares            []htmlShare
}

type htmlShare struct {
	Text  string
	Share float64
}

func newHTMLEvidence(e evidence) htmlEvidence {
	h := htmlEvidence{Lead: e.Lead, LossLegend: lossLegend, LimitLegend: limitLegend, LimitNames: limitNames()}
	h.Costs = len(e.Bills)+len(e.Breakdowns) > 0 || e.Pass != nil
	for i, b := range e.Bills {
		h.Legend = b.Legend()
		bill := newHTMLBill(b, i+1)
		for j := range bill.Tables {
			bill.Tables[j].Lead = b.Workload
		}
		h.Bills = append(h.Bills, bill)
	}
	if p := e.Pass; p != nil {
		h.Pass = &htmlPass{Text: p.Text, Bill: newHTMLBill(bill{Tables: p.billed()}, 0)}
		for j, t := range p.carried() {
			table := newHTMLTable(t, fmt.Sprintf("r%d", j+1))
			table.Figures = nil // every mode's are alike
			h.Pass.Carried = append(h.Pass.Carried, table)
		}
		if p.ID != "" {
			h.Pass.Empty = p.Empty
		}
		if p.Bill != nil {
			h.Pass.Bill.Processes = p.Bill.Processes
		}
	}
	for i, b := range e.Breakdowns {
		h.Breakdowns = append(h.Breakdowns, newHTMLBreakdown(b, fmt.Sprintf("b%d", i+1)))
	}
	for i, t := range e.Losses {
		l := htmlLosses{Anchor: fmt.Sprintf("l%d", i+1), Workload: t.Workload, Missing: t.Missing}
		for _, r := range t.Rows {
			m := htmlLost{Mode: r.Mode, Whole: r.whole(), Reasons: r.reasons(len(r.Reasons))}
			for _, p := range r.lines() {
				m.Lines = append(m.Lines, htmlPlace{p, r.portion(p.Count)})
			}
			l.Modes = append(l.Modes, m)
		}
		h.Losses = append(h.Losses, l)
	}
	for i, t := range e.Limits {
		l := htmlLimits{Anchor: fmt.Sprintf("t%d", i+1), Workload: t.Workload, Missing: t.Missing}
		for _, r := range t.Rows {
			row := htmlLimit{Name: r.name(t), Retransmits: r.Again()}
			for i, text := range r.Texts() {
				s := htmlShare{Text: text}
				if r.Shares[i] != nil {
					s.Share = *r.Shares[i]
				}
				row.Shares = append(row.Shares, s)
			}
			l.Rows = append(l.Rows, row)
		}
		h.Limits = append(h.Limits, l)
	}
	return h
}

// billAnchor is where the j-th table of the i-th bill stands; 0 is that of the pass at
// a fixed rate.
func billAnchor(i, j int) string { return fmt.Sprintf("c%d-%d", i, j+1) }

func newHTMLBill(b bill, nth int) htmlBill {
	h := htmlBill{Processes: b.Processes, ProcessesLegend: processesLegend}
	for i, t := range b.Tables {
		h.Tables = append(h.Tables, newHTMLTable(t, billAnchor(nth, i)))
	}
	return h
}

func newHTMLBreakdown(b breakdown, anchor string) htmlBreakdown {
	b = b.finer()
	h := htmlBreakdown{Anchor: anchor, Workload: b.Workload, Title: lower(b.title()), Missing: b.Missing, Folded: b.Folded(),
		Caption: "CPU time, " + b.Unit + " (95 % interval)", Unknown: b.unknown()}
	f, ok := b.figure()
	if !ok {
		return h
	}
	keys, _ := b.keys()
	for i, name := range keys {
		h.Keys = append(h.Keys, htmlKey{i, name})
	}
	h.Keys = append(h.Keys, htmlKey{chart.Unsorted, result.Unclassified})
	for i, p := range f.Panels {
		one := chart.Figure{Title: b.Workload + ": " + p.Title, Desc: f.Desc, Panels: []chart.Panel{p}}
		// The chart escapes all text that it is given.
		h.Figures = append(h.Figures, template.HTML(one.Inline(fmt.Sprintf("%s-f%d", anchor, i+1))))
	}
	for _, m := range b.Modes {
		h.Heads = append(h.Heads, htmlHead{m.Mode, m.Base})
	}
	for _, r := range append(b.Rows, b.all()) {
		row := htmlComponent{Name: r.Name}
		for j, c := range r.Cells {
			s := htmlSpent{Value: b.number(c.Value), Diff: b.diff(c), Beside: b.Modes[j].Base != ""}
			if c.CI != nil {
				s.CI = strings.ReplaceAll(b.number(c.CI[0])+"-"+b.number(c.CI[1]), "-", "\u2011")
			}
			if b.apart(r, j) {
				s.More, s.Less = strings.HasPrefix(s.Diff, "+"), strings.HasPrefix(s.Diff, "-")
			}
			row.Cells = append(row.Cells, s)
		}
		h.Rows = append(h.Rows, row)
	}
	h.Rows[len(h.Rows)-1].Sum = true
	return h
}
