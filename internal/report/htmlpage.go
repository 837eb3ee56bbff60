package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/say"
	"tare/internal/result"
)

// htmlPage is what the template is given.
type htmlPage struct {
	view
	Style      template.CSS
	StyleHash  string
	Script     template.JS
	ScriptHash string
	About      []result.Fact
	Meta       string
	Numbers    map[string]int // of modes, from 1, by which a page finds what belongs to one
	Matrix     *matrix
	Sections   []htmlSection
	FactNames  []factRow
	Agreements []string
	Standings  []standing
	Method     []string
	Commands   []htmlCommand
	MoreLost   string

	SweepCharts []*htmlShown // of each sweep, nil where there is nothing to draw

	Evidence       htmlEvidence
	ScenarioTables []htmlScenarios
	Comparisons    []htmlComparison
	ComparedLegend string
}

// htmlSection is a workload.
type htmlSection struct {
	ID, Anchor string
	Tables     []htmlTable
	Details    []htmlTable // of what a first look can do without
	Charts     []htmlShown
	Log        *htmlLog
	Rates      []rateShare
	Curves     []curve
	Legend     string // of Rates
	Empty      string
}

// htmlTable is a metric: its figures and the table behind them.
type htmlTable struct {
	Anchor, Lead           string // Lead stands before the title: of which workload it is
	Title, Unit, Direction string
	Noun, Caption, Seen    string
	Ratios, HasP           bool
	Figures                []template.HTML
	Groups                 []htmlGroup
}

type htmlGroup struct {
	Heading string
	Rows    []htmlRow
}

// htmlRow is one mode. Out says that it has no figures but a reason.
type htmlRow struct {
	Mode                             string
	Group                            int
	Tone                             chart.Tone
	Out                              bool
	Value, Ratio, Verdict, P, N, Det string
	Remarks                          []string
}

// factRow is one fact over all hosts.
type factRow struct {
	Name   string
	Values []string
}

func newHTMLPage(v view) htmlPage {
	style, source := Style()
	script, scriptSource := Script()
	p := htmlPage{
		view:       v,
		Style:      style,
		StyleHash:  source,
		Script:     script,
		ScriptHash: scriptSource,
		About:      about(v),
		Meta:       strings.Join(particulars(v), " · "),
		Numbers:    map[string]int{},
		FactNames:  factRows(v.Run.Hosts),
		Agreements: agreements(v),
		Standings:  standingsOf(v.Run.Modes),
		Method:     methodText(v),
		Commands:   commandsOf(v),

		Evidence:       newHTMLEvidence(v.Evidence),
		ScenarioTables: newHTMLScenarios(v),
		Comparisons:    newHTMLComparisons(v),
		ComparedLegend: comparedLegend,
	}
	p.Lost, p.MoreLost = fewLost(v.Lost)
	for i, m := range v.order {
		p.Numbers[m] = i + 1
	}
	begin := began(v)
	anchors := map[string]string{}
	for i, w := range v.Workloads {
		s := htmlSection{ID: w.ID, Anchor: fmt.Sprintf("w%d", i+1), Rates: w.Rates, Curves: w.Curves, Legend: searchLegend, Empty: w.Empty}
		for j, t := range w.Tables {
			if v.billed(t) {
				continue
			}
			h := newHTMLTable(t, fmt.Sprintf("%s-%d", s.Anchor, j+1))
			anchors[w.ID+" "+t.Metric.Name] = h.Anchor
			if t.Metric.Detail {
				s.Details = append(s.Details, h)
			} else {
				s.Tables = append(s.Tables, h)
			}
		}
		s.Charts, s.Log = w.htmlCharts(s.Anchor, begin), v.newHTMLLog(w, begin, p.Numbers)
		p.Sections = append(p.Sections, s)
	}
	for i, b := range v.Evidence.Bills {
		for j, t := range b.Tables {
			anchors[b.Workload+" "+t.Metric.Name] = billAnchor(i+1, j)
		}
	}
	if pass := v.Evidence.Pass; pass != nil {
		for j, t := range pass.billed() {
			anchors[t.Workload+" "+t.Metric.Name] = billAnchor(0, j)
		}
		if p.Evidence.Pass != nil {
			p.Evidence.Pass.Log = v.newHTMLLog(pass.workload, begin, p.Numbers)
		}
	}
	p.Matrix = newMatrix(v, func(t table) string { return anchors[t.Workload+" "+t.Metric.Name] })
	for i, s := range v.Sweeps {
		var drawn *htmlShown
		if c, ok := s.chart(v); ok {
			h := c.draw(fmt.Sprintf("sweep%d-g", i), s.ID, nil)
			drawn = &h
		}
		p.SweepCharts = append(p.SweepCharts, drawn)
	}
	return p
}

// Environment says that anything is known of where the run was.
func (p htmlPage) Environment() bool { return len(p.Run.Hosts)+len(p.Standings) > 0 }

func newHTMLTable(t table, anchor string) htmlTable {
	panels := t.panels()
	h := htmlTable{
		Anchor:    anchor,
		Title:     t.Metric.Title,
		Unit:      t.unit(),
		Direction: direction(t.Metric),
		Noun:      noun(t.Metric),
		Caption:   t.Workload + ": " + t.inline(),
		Seen:      t.seen(),
	}
	for i, p := range panels {
		desc := t.description()
		if i > 0 {
			desc = "The trials that the ratios are of; the table has the figures."
		}
		f := chart.Figure{Title: t.Workload + ": " + p.Title, Desc: desc, Panels: []chart.Panel{p}}
		// The chart escapes all text that it is given.
		h.Figures = append(h.Figures, template.HTML(f.Inline(fmt.Sprintf("%s-%d", anchor, i+1))))
	}
	for _, g := range t.Groups {
		hg := htmlGroup{Heading: g.Heading}
		for _, r := range g.Rows {
			h.Ratios = h.Ratios || r.Cell != nil && r.Cell.Ratio != nil
			h.HasP = h.HasP || r.Cell != nil && r.Cell.P != nil
			hg.Rows = append(hg.Rows, htmlRow{
				Mode: r.Mode.ID, Group: r.No, Tone: r.tone(), Out: unmeasured(r.Mode) || r.Cell == nil,
				Value: r.value(t.Scale), Ratio: r.ratio(), Verdict: r.brieflyJudged(),
				P: r.p(), N: r.n(), Det: r.detectable(), Remarks: r.remarks(t.Scale),
			})
		}
		h.Groups = append(h.Groups, hg)
	}
	return h
}

// Span is how many columns stand beside the mode's name.
func (h htmlTable) Span() int {
	n := 3 // value, verdict, n
	if h.Ratios {
		n += 2 // ratio, smallest change
	}
	if h.HasP {
		n++
	}
	return n
}

// All is Span with the mode's name.
func (h htmlTable) All() int { return h.Span() + 1 }

// factRows turns the facts of all hosts into one table, in the order in which
// they first appear.
func factRows(hosts []result.Host) []factRow {
	var out []factRow
	for i, h := range hosts {
		for _, f := range h.Facts {
			at := slices.IndexFunc(out, func(r factRow) bool { return r.Name == f.Name })
			if at < 0 {
				at = len(out)
				out = append(out, factRow{f.Name, slices.Repeat([]string{say.Unknown}, len(hosts))})
			}
			out[at].Values[i] = f.Value
		}
	}
	return out
}
