package answer

import (
	"testing"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

func TestMatrix(t *testing.T) {
	b := model.NewBuilder(model.New(reports.Drawable(3)))
	m := Matrix(b)[0].(doc.Section).Blocks[0].(doc.Overview)
	must.Equal(t, []doc.OverviewColumn{{Workload: "udp_search", Metric: "throughput at 1 % loss", To: "w2-2"}}, m.Columns)
	must.Equal(t, []doc.OverviewRow{
		{Mode: "host", Group: 1, Cells: []doc.OverviewCell{{Tone: chart.Plain, Change: "≥ 900 Mbit/s"}}},
		{Mode: "m", Group: 2, Cells: []doc.OverviewCell{{Tone: chart.Plain, Change: "not judged"}}},
		{Mode: "gone", Group: 3, Out: "unsupported"},
	}, m.Groups[0].Rows)
	for _, c := range Overview(b, doc.Pages).Columns {
		must.True(t, c.Workload != "udp_search" || c.Metric != m.Columns[0].Metric, "the answer has it too: %+v", c)
	}
	must.EqualFor(t, "a matrix of nothing", []doc.Block(nil), Matrix(model.NewBuilder(model.New(model.Input{}))))
}
