package why

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/wording"
)

// What removing a part changes is told in words, by the sign of what the part costs.
func TestRemoved(t *testing.T) {
	for want, c := range map[string]struct {
		metric string
		value  float64
	}{
		"0.50 us slower ±0.02": {"transaction_rate", -0.5e-6}, "0.50 us faster ±0.02": {"transaction_rate", 0.5e-6}, "no change ±0.02": {"transaction_rate", 0.001e-6},
		"0.50 us more ±0.02": {result.CPUCostTransactions, -0.5e-6}, "0.50 us less ±0.02": {result.CPUCostTransactions, 0.5e-6},
	} {
		l := partCosts{PartCosts: result.PartCosts{Metric: c.metric}, scale: wording.ScaleFor("s/transaction", 1e-5)}
		change, interval := l.removed(&result.Amount{Value: c.value, CI: &result.Interval{c.value - 0.02e-6, c.value + 0.02e-6}})
		must.EqualFor(t, c.value, want, change+" "+interval)
	}
	change, interval := (partCosts{}).removed(nil)
	must.True(t, change == wording.Unknown && interval == "", "unknown: %q %q", change, interval)
}

// No advice is given to end a part without which the mode was slower.
func TestAdviceFollowsRemovals(t *testing.T) {
	l := &result.CostByParts{Modes: []result.PartMode{{Part: "bridge", Avoid: "use macvlan"}, {Part: "dnat", Avoid: "do without"}}}
	cost := &result.Amount{Value: 1e-6}
	c := partCosts{PartCosts: result.PartCosts{Unit: "s/transaction", Steps: []result.PartCost{
		{Parts: []string{"bridge"}, Cost: cost, Verdict: result.Worse}, {Parts: []string{"dnat"}, Cost: cost, Verdict: result.Worse}}}}
	must.Equal(t, 2, len(c.avoidable(l)))
	c.Removals = []result.PartCost{{Parts: []string{"bridge"}, Verdict: result.Better}, {Parts: []string{"dnat"}, Verdict: result.Worse}}
	got := c.avoidable(l)
	must.True(t, len(got) == 1 && got[0].About[0] == "dnat", "advice %+v", got)
}
