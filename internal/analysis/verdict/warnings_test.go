package verdict

import (
	"math"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

func TestCellWarnings(t *testing.T) {
	void := []result.Mode{{ID: "host", Status: result.ModeVoid, Reason: "counters did not move"}, blocks.HostAnd()[1]}
	missing := []result.Mode{blocks.HostAnd()[1]}
	deeper := []result.Mode{missing[0], {ID: "edge", Status: result.ModeMeasured, Baseline: "veth"}}
	for _, c := range []struct {
		name   string
		modes  []result.Mode
		trials []result.Trial
		want   []result.Warning
	}{
		{"nothing to say", blocks.HostAnd(), blocks.Join(blocks.Rows("host", "goodput", 100, 101, 99), blocks.Rows("veth", "goodput", 80, 81, 80)), nil},
		{"two bands", blocks.HostAnd(), blocks.Join(blocks.Rows("host", "goodput", 10e9, 10e9, 10e9, 10e9, 10e9, 10e9, 10e9, 10e9, 10e9, 10e9), blocks.Rows("veth", "goodput", 6e9, 6.1e9, 9e9, 9e9, 9.1e9, 6e9, 9e9, 9e9, 6e9, 9e9)), []result.Warning{
			{Code: "two_bands", Scope: "veth stream goodput", Text: "the ratios to host form two bands, 4 blocks near 0.602, 6 near 0.902: the mean describes neither. Look at the single trials; pin CPUs, or set buffers to a fixed size.", Values: result.NewValues("4", "blocks", "0.602", "6", "0.902")}}},
		{"too few blocks for bands", blocks.HostAnd(), blocks.Join(blocks.Rows("host", "goodput", 8e9, 8.1e9, 12e9, 11.9e9, 12.1e9), blocks.Rows("veth", "goodput", 7e9, 7.1e9, 7e9, 7.1e9, 7e9)), nil},
		{"two bands of a metric that is not primary", blocks.HostAnd(), blocks.Rows("host", "rtt_p99", 1, 1, 2, 2), nil},
		{"beats its baseline", blocks.HostAnd(), blocks.Join(blocks.Rows("host", "goodput", 100, 101, 99), blocks.Rows("veth", "goodput", 125, 125, 124)), []result.Warning{
			{Code: "beats_baseline", Scope: "veth stream goodput", Text: "veth is better than its baseline host (1.25 times its goodput), which a longer path should not be. " +
				"Check the path counters for a shorter path, and that MTU, offloads, congestion control, socket buffers and CPU placement are the same.", Values: result.NewValues("1.25", "goodput")}}},
		{"beats it in a metric that is not primary", blocks.HostAnd(), blocks.Join(blocks.Rows("host", "rtt_p50", 100, 101, 99), blocks.Rows("veth", "rtt_p50", 75, 75, 74)), nil},
		{"beats it by less than the margin", blocks.HostAnd(), blocks.Join(blocks.Rows("host", "goodput", 100, 101, 99), blocks.Rows("veth", "goodput", 102, 103.1, 101)), nil},
		{"no baseline trials", blocks.HostAnd(), blocks.Rows("veth", "goodput", 80), []result.Warning{
			{Code: "baseline_missing", Scope: "veth stream", Text: "veth cannot be compared: its baseline host has no valid trial of this workload"}}},
		{"void baseline", void, blocks.Join(blocks.Rows("host", "goodput", 100), blocks.Rows("veth", "goodput", 80)), []result.Warning{
			{Code: "baseline_missing", Scope: "veth stream", Text: "veth cannot be compared: its baseline host is void (counters did not move)"}}},
		{"baseline not in the run", missing, blocks.Rows("veth", "goodput", 80), []result.Warning{
			{Code: "baseline_missing", Scope: "veth stream", Text: "veth cannot be compared: its baseline host is not a mode of the run"}}},
		{"a baseline whose own is not in the run", deeper, blocks.Join(blocks.Rows("veth", "goodput", 80, 81, 80), blocks.Rows("edge", "goodput", 40, 41, 40)), nil},
		{"neither has trials", blocks.HostAnd(), nil, nil},
		{"unknown metrics", blocks.HostAnd(), blocks.Join(blocks.Rows("host", "zeal", 1, 2), blocks.Rows("host", "ardour", 1, 2)), []result.Warning{
			// Trials of one block replace each other: only the later ones count.
			{Code: "unknown_metric", Scope: "run", Text: `this version of tare does not know the metric "ardour": its values are left out`}}},
		{"unusable values", blocks.HostAnd(), blocks.Rows("host", "goodput", 100, math.NaN(), -1, math.Inf(1)), []result.Warning{
			{Code: "bad_value", Scope: "host stream goodput", Text: "3 negative or non-finite values are left out of this cell", Values: result.NewValues("3")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := Cells(c.modes, []string{"stream"}, c.trials, Rule{Margin: 0.05})
			must.Equal(t, c.want, got)
		})
	}
}
