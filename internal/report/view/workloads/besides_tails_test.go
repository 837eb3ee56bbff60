package workloads

import (
	"testing"

	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// A value without a verdict says so in its column, and why below the table.
func TestUnjudgedSaysWhy(t *testing.T) {
	value := 2e-3
	m := result.Mode{ID: "m", Status: result.ModeMeasured, Baseline: "host"}
	r := model.Row{Mode: m, Cell: &result.Cell{Mode: "m", Metric: "rtt_p999", Unit: "s", Value: &value, Baseline: "host", Unjudged: "not judged: it needs the tail pass (--tails)"}}
	table := model.Table{Metric: result.Metric{Name: "rtt_p999", Unit: "s"}}
	must.Contain(t, summary(r, table, 4), "  not judged")
}
