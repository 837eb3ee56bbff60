package report

import (
	"fmt"
	"slices"

	"tare/internal/report/chart"
	"tare/internal/report/say"
	"tare/internal/result"
)

// htmlScenarios is a table of scenarios.
type htmlScenarios struct {
	Title, CPULegend        string
	HasSent, HasCPU, Ratios bool
	Rows                    []htmlScenario
}

// htmlScenario is one scenario. Anchor is where its mode is told of.
type htmlScenario struct {
	ID, Title, Description, Mode, Anchor, Workload, Limits string
	Tone                                                   chart.Tone
	Out                                                    bool
	Value, Sent, CPU, Ratio, Verdict                       string
	Remarks                                                []string
}

// htmlComparison is a comparison that the study asked for.
type htmlComparison struct {
	ID, Title, Where, Without string
	Rows                      []htmlCompared
}

// htmlCompared is a comparison in one metric.
type htmlCompared struct {
	Tone                                    chart.Tone
	Metric, A, B, Ratio, Verdict, P, Det, N string
}

// Span is how many columns stand beside the scenario and its mode.
func (h htmlScenarios) Span() int {
	n := 2 // value, verdict
	for _, has := range []bool{h.HasSent, h.HasCPU, h.Ratios} {
		if has {
			n++
		}
	}
	return n
}

func newHTMLScenarios(v view) []htmlScenarios {
	var out []htmlScenarios
	for _, t := range v.Scenarios {
		h := htmlScenarios{Title: t.heading(), CPULegend: cpuLegend, HasSent: t.sent(), HasCPU: t.cpu()}
		for _, r := range t.Rows {
			h.Ratios = h.Ratios || r.Cell != nil && r.Cell.Ratio != nil
			s := htmlScenario{
				ID: r.Scenario.ID, Title: r.Scenario.Title, Description: r.Scenario.Description, Mode: r.Mode.ID, Workload: r.Scenario.Workload,
				Limits: limitsOf(r.Mode), Tone: r.tone(), Out: unmeasured(r.Mode) || r.Cell == nil, Value: r.value(t.Scale),
				Sent: r.sentText(t.Scale), CPU: r.cpuText(), Ratio: r.ratio(), Verdict: r.brieflyJudged(), Remarks: r.remarks(t.Scale),
			}
			if i := slices.IndexFunc(v.Run.Modes, func(m result.Mode) bool { return m.ID == r.Mode.ID }); i >= 0 {
				s.Anchor = fmt.Sprintf("m%d", i)
			}
			h.Rows = append(h.Rows, s)
		}
		out = append(out, h)
	}
	return out
}

func newHTMLComparisons(v view) []htmlComparison {
	var out []htmlComparison
	for _, c := range v.Comparisons {
		h := htmlComparison{ID: c.ID, Title: c.Title, Where: c.Where, Without: c.without()}
		for _, l := range c.Lines {
			h.Rows = append(h.Rows, htmlCompared{
				Tone: l.tone(), Metric: l.heading(), A: l.value(l.A), B: l.value(l.B), Ratio: say.Ratio(l.Ratio, l.RatioCI),
				Verdict: l.brieflyJudged(), P: say.P(l.P), Det: l.detectable(), N: l.count(),
			})
		}
		out = append(out, h)
	}
	return out
}
