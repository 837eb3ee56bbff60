package workloads

import (
	"fmt"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/sheet"
)

// charts are the charts of a workload: its trials over time, the rate within them, percentiles
// and loss over load.
func charts(b *model.Builder, w model.Workload, anchor string) []doc.Block {
	var out []doc.Block
	add := func(s sheet.WorkloadChart, behind *doc.Table) {
		out = append(out, s.Figure(fmt.Sprintf("%s-g%d", anchor, len(out)+1), w.ID, behind))
	}
	if len(w.Tables) > 0 {
		main := w.Tables[0]
		if s, ok := timeline(main, b.Begin); ok {
			add(s, nil) // the table of trials is behind it
		}
		if t, ok := timedOf(main, mostSlots); ok {
			coarse, _ := timedOf(main, mostTimes)
			add(t.chart(), coarse.tableOf().Table())
		}
	}
	for _, c := range percentileCurves(w) {
		add(c.chart(), c.tableOf().Table())
	}
	if s, ok := lossCurve(w); ok {
		add(s, nil) // the tables of the search are behind it
	}
	return out
}

// mostTimes is how many time slots the table behind a series has.
const mostTimes = 12

// mostSlots is how many slots a lane's time has.
const mostSlots = 60
