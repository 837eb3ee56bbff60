package history

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// The dates of an axis are few, in order and within it.
func TestDateTicks(t *testing.T) {
	begin := time.Date(2026, 1, 31, 22, 50, 0, 0, time.UTC)
	for _, long := range []time.Duration{time.Second, time.Minute, time.Hour, 5 * time.Hour, 30 * time.Hour, 80 * time.Hour, 20 * 24 * time.Hour, 60 * 24 * time.Hour, 400 * 24 * time.Hour, 9000 * 24 * time.Hour, math.MaxInt64} {
		ticks := dateTicks(begin, begin.Add(long))
		must.True(t, len(ticks) <= 8 && (len(ticks) != 0 || long <= time.Minute), "%v: ticks %v", long, ticks)
		for i, tick := range ticks {
			days := long.Hours() / 24
			must.True(t, tick.At >= 0 && tick.At <= days && (i <= 0 || tick.At > ticks[i-1].At), "%v: ticks %v", long, ticks)
		}
	}
}

// However many runs a history has, its figures have a bounded number of points together; one is always drawn.
func TestFiguresOfManyRuns(t *testing.T) {
	h := result.History{Machines: []result.MachineHistory{{Machine: "Xeon", Runs: []result.HistoryRun{{ID: "r"}}}}}
	points := func(n int) []result.HistoryPoint { return slices.Repeat([]result.HistoryPoint{{Ratio: 0.5}}, n) }
	for i := range 4 {
		h.Machines[0].Series = append(h.Machines[0].Series, result.HistorySeries{Mode: fmt.Sprint("m", i), Baseline: "host", Workload: "tcp_rr", Metric: "transaction_rate", Points: points(mostDrawn / 2)})
	}
	must.EqualFor(t, "figures", 2, len(newHistoryView(h, Options{}).drawn()))
	h.Machines[0].Series[0].Points = points(2 * mostDrawn)
	must.EqualFor(t, "figures beside a very long one", 1, len(newHistoryView(h, Options{}).drawn()))
}
