package history

import (
	"fmt"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// many is a run with that many ratios of a workload's main metric, of another metric and of a control.
func many(id string, n int) Run {
	r := Run{Path: id, Hash: "h", Run: result.Run{ID: id, Hosts: []result.Host{{Name: "a", Facts: []result.Fact{{Name: "cpu_model", Value: "Model One"}}}},
		Modes: []result.Mode{{ID: "host"}, {ID: "m", Baseline: "host"}, {ID: "control", Baseline: "host", Control: true}}}}
	for i := range n {
		for _, c := range []result.Cell{{Mode: "m", Metric: "goodput"}, {Mode: "m", Metric: "rtt_p99"}, {Mode: "control", Metric: "goodput"}, {Mode: "m", Metric: "goodput"}} {
			c.Workload, c.Baseline, c.Ratio = fmt.Sprint("w", i), "host", new(0.5)
			r.Run.Cells = append(r.Run.Cells, c)
		}
	}
	return r
}

// A run of very many cells, each twice, is read in time that grows with their number: of 200 000, a quadratic search
// would take hours.
func TestManyRatios(t *testing.T) {
	r := many("r", 50_000)
	must.EqualFor(t, "ratios", 50_000, len(points(r, nil)))
	must.EqualFor(t, "ratios of another metric", 50_000, len(points(r, []string{"rtt_p99"})))
}

// Of each run only what a history needs is kept, facts that stay the same once, and not more than fits into memory.
func TestKept(t *testing.T) {
	var k Kept
	for i := range 3 {
		must.Do(t, k.Add(many(fmt.Sprint("r", i), 10)))
	}
	whole := []Run{many("r0", 10), many("r1", 10), many("r2", 10)}
	for i, r := range k.Runs() {
		must.EqualFor(t, "cells", 0, len(r.Run.Cells))
		must.EqualFor(t, "ratios", 10, len(points(r, nil)))
		must.True(t, &r.Run.Hosts[0] == &k.Runs()[0].Run.Hosts[0] && &r.Run.Modes[0] == &k.Runs()[0].Run.Modes[0], "run %d has facts of its own", i)
	}
	must.EqualFor(t, "the history", Of(whole, "h", nil), Of(k.Runs(), "h", nil))
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		err = k.Add(many("r", maxRatios/50))
	}
	must.Fail(t, err, fmt.Sprintf("more than %d ratios", maxRatios))
}
