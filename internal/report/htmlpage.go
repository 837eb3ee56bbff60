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
	About      []result.Fact
	Meta       string
	Sections   []htmlSection
	FactNames  []factRow
	Log        []logRow
	Agreements []string
	Standings  []standing

	Evidence       htmlEvidence
	ScenarioTables []htmlScenarios
	Comparisons    []htmlComparison
	ComparedLegend string
}

// htmlSection is a workload.
type htmlSection struct {
	ID, Anchor string
	Tables     []htmlTable
	Rates      []rateShare
	Curves     []curve
	Legend     string // of Rates
	Empty      string
}

// htmlTable is a metric: its figures and the table behind them.
type htmlTable struct {
	Anchor, Lead           string // Lead stands before the title: of which workload it is
	Title, Unit, Direction string
	Caption, Seen          string
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

// logRow is one trial.
type logRow struct {
	result.Trial
	Figures string
	Fine    bool
	Old     bool // its set was run once more
}

func newHTMLPage(v view) htmlPage {
	style, source := Style()
	p := htmlPage{
		view:       v,
		Style:      style,
		StyleHash:  source,
		About:      about(v),
		Meta:       strings.Join(particulars(v), " · "),
		FactNames:  factRows(v.Run.Hosts),
		Agreements: agreements(v),
		Standings:  standingsOf(v.Run.Modes),

		Evidence:       newHTMLEvidence(v.Evidence),
		ScenarioTables: newHTMLScenarios(v),
		Comparisons:    newHTMLComparisons(v),
		ComparedLegend: comparedLegend,
	}
	for i, w := range v.Workloads {
		s := htmlSection{ID: w.ID, Anchor: fmt.Sprintf("w%d", i+1), Rates: w.Rates, Curves: w.Curves, Legend: searchLegend, Empty: w.Empty}
		for j, t := range w.Tables {
			if v.billed(t) {
				continue
			}
			s.Tables = append(s.Tables, newHTMLTable(t, fmt.Sprintf("%s-%d", s.Anchor, j+1)))
		}
		p.Sections = append(p.Sections, s)
	}
	old := result.Superseded(v.Trials)
	for _, t := range v.Trials {
		p.Log = append(p.Log, logRow{t, figuresOf(t), t.Status == result.TrialOK, old(&t)})
	}
	return p
}

func newHTMLTable(t table, anchor string) htmlTable {
	panels := t.panels()
	h := htmlTable{
		Anchor:    anchor,
		Title:     t.Metric.Title,
		Unit:      t.unit(),
		Direction: direction(t.Metric),
		Caption:   t.Workload + ": " + t.inline(),
		Seen:      t.seen(),
	}
	for i, p := range panels {
		f := chart.Figure{Title: t.Workload + ": " + p.Title, Desc: t.description(), Panels: []chart.Panel{p}}
		// The chart escapes all text that it is given.
		h.Figures = append(h.Figures, template.HTML(f.Inline(fmt.Sprintf("%s-%d", anchor, i+1))))
	}
	for _, g := range t.Groups {
		hg := htmlGroup{Heading: g.Heading}
		for _, r := range g.Rows {
			h.Ratios = h.Ratios || r.Cell != nil && r.Cell.Ratio != nil
			h.HasP = h.HasP || r.Cell != nil && r.Cell.P != nil
			hg.Rows = append(hg.Rows, htmlRow{
				Mode: r.Mode.ID, Tone: r.tone(), Out: unmeasured(r.Mode) || r.Cell == nil,
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

// figuresOf lists the metrics of a trial in the order of the tables.
func figuresOf(t result.Trial) string {
	var parts []string
	t.Pilot, t.Profiled = false, false
	for _, m := range metricsOf(Input{Trials: []result.Trial{t}}, t.Workload) {
		parts = append(parts, m.Name+" "+say.Value(t.Metrics[m.Name], m.Unit))
	}
	if len(parts) == 0 {
		return say.Unknown
	}
	return strings.Join(parts, ", ")
}

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
