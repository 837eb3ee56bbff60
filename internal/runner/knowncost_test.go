//go:build linux

package runner_test

import (
	"slices"
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// A cost by parts finds a known cost with the right sign and size: as many rules without effect once
// more cost as much as the first time. Each packet is compared with all of them, so the cost
// follows their number; it is far above the noise. It is not exactly proportional (the longer
// table fits the caches differently: 6 % were seen where the intervals had 3 %), so the two are
// held within a third of each other and not by their intervals.
func TestAloneKnownCost(t *testing.T) {
	const first, second = "noop-1000", "noop-2000"
	run, _ := runStudy(t.Context(), t, netns.Driver{}, []string{"host", "netns/published"}, func(s *study.Study) {
		s.Modes = append(s.Modes,
			study.Mode{ID: first, Mode: "netns/published", With: map[string]string{"noop_rules": "1000"}},
			study.Mode{ID: second, Mode: "netns/published", With: map[string]string{"noop_rules": "2000"}})
		s.CostByParts = &study.CostByParts{Of: second, Modes: []study.PartMode{
			{Mode: "host"}, {Mode: "netns/published", Part: "published"}, {Mode: first, Part: "first"}, {Mode: second, Part: "second"},
		}}
		s.Blocks = 8
		w := &s.Workloads[0]
		w.RequestSize, w.ResponseSize, w.Placement, w.Slice = 1, 1, study.OneCore, quantity.Duration(25*time.Millisecond)
		w.Duration = quantity.Duration(500 * time.Millisecond)
	}, nil)
	i := slices.IndexFunc(run.CostByParts.Costs, func(c result.PartCosts) bool { return c.Metric == "transaction_rate" })
	must.Require(t, i >= 0, "no cost of a transaction: %+v", run.CostByParts)
	costs := map[string]result.PartCost{}
	for _, s := range run.CostByParts.Costs[i].Steps {
		costs[s.With] = s
		must.Require(t, s.Cost != nil && s.Cost.CI != nil, "%s has no cost with an interval: %+v, modes %+v", s.With, s, run.Modes)
		t.Logf("%s costs %.2f us (%.2f .. %.2f) a transaction more than %s", s.With, 1e6*s.Cost.Value, 1e6*s.Cost.CI[0], 1e6*s.Cost.CI[1], s.Without)
	}
	a, b := costs[first], costs[second]
	for _, s := range []result.PartCost{a, b} {
		must.True(t, s.Cost.CI[0] > 0 && s.Verdict == result.Worse, "1000 rules more in %s: %+v, verdict %s; want a cost", s.With, s.Cost, s.Verdict)
	}
	if ratio := b.Cost.Value / a.Cost.Value; ratio < 0.75 || ratio > 1.33 {
		t.Errorf("the first 1000 rules cost %+v and the next 1000 %+v: want within a third of each other", a.Cost, b.Cost)
	}
}
