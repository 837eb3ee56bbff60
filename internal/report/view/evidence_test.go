package view

import (
	"strings"
	"testing"

	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// A pass of which every trial was ruled out is told of as such.
func TestPassWithoutTrials(t *testing.T) {
	in := model.Input{Run: result.Run{CostPass: &result.CostPass{Rate: 1e9}, Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}}}}
	in.Trials = []result.Trial{{Block: 2, Mode: "host", Workload: "cost_pass", Status: result.TrialInvalid, Metrics: map[string]float64{"goodput": 1e9, "cpu_cost": 0.1}}}
	for form, text := range everything(in) {
		must.True(t, form == "Markdown" || strings.HasSuffix(form, ".svg") || strings.Contains(strings.Join(strings.Fields(text), " "), "No valid trial has a CPU cost"),
			"%s does not say that no trial of the pass counts", form)
	}
}

// A full report with evidence stays small enough to be mailed.
func TestEvidenceStaysSmall(t *testing.T) {
	n := len(HTML(reports.Priced()))
	must.True(t, n <= 300_000, "%d bytes", n)
}
