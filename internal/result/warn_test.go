package result

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCellWarnings(t *testing.T) {
	void := []Mode{{ID: "host", Status: ModeVoid, Reason: "counters stood still"}, hostAnd[1]}
	missing := []Mode{hostAnd[1]}
	for _, c := range []struct {
		name   string
		modes  []Mode
		trials []Trial
		want   []Warning
	}{
		{"nothing to say", hostAnd, join(rows("host", "goodput", 100, 101, 99), rows("veth", "goodput", 80, 81, 80)), nil},
		{"two bands", hostAnd, join(rows("host", "goodput", 8e9, 8.1e9, 12e9, 11.9e9, 12.1e9), rows("veth", "goodput", 7e9, 7.1e9, 7e9, 7.1e9, 7e9)), []Warning{
			{"two_bands", "host stream goodput", "the trials fall into two bands, 2 near 8.05 Gbit/s and 3 near 12 Gbit/s; their mean stands for neither"}}},
		{"two bands of a metric that is not primary", hostAnd, rows("host", "rtt_p99", 1, 1, 2, 2), nil},
		{"beats its baseline", hostAnd, join(rows("host", "goodput", 100, 101, 99), rows("veth", "goodput", 125, 125, 124)), []Warning{
			{"beats_baseline", "veth stream goodput", "veth is better than its baseline host (1.25 times its goodput), which a longer path should not be; " +
				"before believing it, check that traffic did not take a short cut (path counters), that MTU, offloads, congestion control and socket buffers are alike, " +
				"and that both were pinned alike"}}},
		{"beats it in a metric that is not primary", hostAnd, join(rows("host", "rtt_p50", 100, 101, 99), rows("veth", "rtt_p50", 75, 75, 74)), nil},
		{"beats it by less than the margin", hostAnd, join(rows("host", "goodput", 100, 101, 99), rows("veth", "goodput", 102, 103.1, 101)), nil},
		{"no baseline trials", hostAnd, rows("veth", "goodput", 80), []Warning{
			{"baseline_missing", "veth stream", "nothing to compare veth with: its baseline is host, but it has no ok trial of this workload"}}},
		{"void baseline", void, join(rows("host", "goodput", 100), rows("veth", "goodput", 80)), []Warning{
			{"baseline_missing", "veth stream", "nothing to compare veth with: its baseline is host, but it is void (counters stood still)"}}},
		{"baseline not in the run", missing, rows("veth", "goodput", 80), []Warning{
			{"baseline_missing", "veth stream", "nothing to compare veth with: its baseline is host, but it is not among the modes of the run"}}},
		{"neither has trials", hostAnd, nil, nil},
		{"unknown metrics", hostAnd, join(rows("host", "zeal", 1, 2), rows("host", "ardour", 1, 2)), []Warning{
			// Trials of one block replace each other: only the later ones count.
			{"unknown_metric", "run", `this version of tare knows no metric "ardour"; its values are left out`}}},
		{"unusable values", hostAnd, rows("host", "goodput", 100, math.NaN(), -1, math.Inf(1)), []Warning{
			{"bad_value", "host stream goodput", "values that are negative or no finite number are left out of this cell: 3"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := Cells(c.modes, []string{"stream"}, c.trials, Rule{Margin: 0.05})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
