package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// A sweep is a separate workload for each of its rates, in every block with every mode,
// and so are its scenarios and comparisons.
func TestSweep(t *testing.T) {
	s := sample()
	s.Workloads = append(s.Workloads,
		study.Workload{ID: "curve", Kind: "udp_sweep", Rates: quantity.Rates{200e6, 1500e6}, PayloadSize: 1400, Duration: quantity.Duration(time.Second)},
		study.Workload{ID: "more", Kind: "udp_sweep", Rates: quantity.Rates{100e6, 200e6}, PayloadSize: 1400, Duration: quantity.Duration(time.Second)})
	s.Scenarios = []study.Scenario{
		{ID: "A", Mode: "host", Workload: "curve"}, {ID: "B", Mode: "x", Workload: "curve"},
		{ID: "C", Mode: "x", Workload: "more"}, {ID: "D", Mode: "x", Workload: "tcp_rr"},
	}
	want := []string{"tcp_stream", "tcp_rr", "curve@200Mbit/s", "curve@1500Mbit/s", "more@100Mbit/s", "more@200Mbit/s"}
	must.Equal(t, want, Names(s))
	p := Make(s)
	seen := map[string]int{}
	for _, tr := range trials(p) {
		must.True(t, len(tr.Workload.Rates) == 0, "%s is to be driven at %v at once", tr.Workload.ID, tr.Workload.Rates)
		if tr.Workload.ID == "curve@1500Mbit/s" && tr.Workload.Rate == 1500e6 {
			seen[tr.Mode]++
		}
	}
	must.Equal(t, map[string]int{"host": 4, "x": 4, "y": 4}, seen)
	var scenarios []string
	for _, sc := range Scenarios(s) {
		scenarios = append(scenarios, sc.ID+" "+sc.Mode+" "+sc.Workload)
	}
	must.Equal(t, []string{
		"A@200Mbit/s host curve@200Mbit/s", "A@1500Mbit/s host curve@1500Mbit/s",
		"B@200Mbit/s x curve@200Mbit/s", "B@1500Mbit/s x curve@1500Mbit/s",
		"C@100Mbit/s x more@100Mbit/s", "C@200Mbit/s x more@200Mbit/s", "D x tcp_rr",
	}, scenarios)
	for _, tt := range []struct {
		ids, suffixes []string
		sides         [][]string
	}{
		{[]string{"B", "A"}, []string{"@200Mbit/s", "@1500Mbit/s"}, [][]string{{"B@200Mbit/s", "A@200Mbit/s"}, {"B@1500Mbit/s", "A@1500Mbit/s"}}},
		{[]string{"C", "B"}, []string{"@200Mbit/s"}, [][]string{{"C@200Mbit/s", "B@200Mbit/s"}}},
		{[]string{"D", "A"}, []string{"@200Mbit/s", "@1500Mbit/s"}, [][]string{{"D", "A@200Mbit/s"}, {"D", "A@1500Mbit/s"}}},
		{[]string{"x", "host"}, []string{""}, [][]string{{"x", "host"}}},
	} {
		suffixes, sides := Sides(s, tt.ids...)
		must.EqualFor(t, tt.ids, "", cmp.Diff(tt.suffixes, suffixes)+cmp.Diff(tt.sides, sides))
	}
}

// A list of flows or streams is a separate workload for each number, with a name and the
// settings of a workload that has this number alone.
func TestConcurrency(t *testing.T) {
	s := sample()
	second := quantity.Duration(time.Second)
	s.Workloads = []study.Workload{
		{ID: "rr", Kind: "tcp_rr", FlowCounts: study.Counts{1, 16}, Duration: second},
		{ID: "bulk", Kind: "tcp_stream", StreamCounts: study.Counts{4, 50}, WriteSize: 128 << 10, VerifyWith: "iperf3", Duration: second},
		{ID: "one", Kind: "tcp_crr", FlowCounts: study.Counts{9}, Duration: second},
	}
	s.Scenarios = []study.Scenario{{ID: "A", Mode: "host", Workload: "rr"}, {ID: "B", Mode: "x", Workload: "rr"}}
	s.CostPass = study.CostPass{Rate: quantity.PassAuto, Warmup: quantity.WaitOf(0), Duration: second}
	want := []string{"rr@1flows", "rr@16flows", "bulk@4streams", "bulk@4streams.iperf3", "bulk@50streams", "bulk@50streams.iperf3", "one@9flows", study.CostPassID}
	must.Equal(t, want, Names(s))
	seen := map[string]int{}
	for _, tr := range trials(Make(s)) {
		_, list := tr.Workload.Concurrency()
		must.True(t, len(list) <= 0, "%s still has the list %v", tr.Workload.ID, list)
		seen[tr.Workload.ID] = tr.Workload.Flows + tr.Workload.Streams
	}
	must.Equal(t, map[string]int{"rr@1flows": 1, "rr@16flows": 16, "bulk@4streams": 4, "bulk@4streams.iperf3": 4, "bulk@50streams": 50, "bulk@50streams.iperf3": 50,
		"one@9flows": 9, study.CostPassID: 4}, seen)
	alone := s
	alone.Workloads = []study.Workload{{ID: "rr@16flows", Kind: "tcp_rr", Flows: 16, Duration: second}}
	must.Equal(t, Settings(alone).Workloads["rr@16flows"], Settings(s).Workloads["rr@16flows"])
	must.Equal(t, []Concurrency{{"rr", "flows", study.Counts{1, 16}, []string{"rr@1flows", "rr@16flows"}},
		{"bulk", "streams", study.Counts{4, 50}, []string{"bulk@4streams", "bulk@50streams"}}}, Concurrencies(s))
	suffixes, _ := Sides(s, "B", "A")
	must.True(t, cmp.Equal(suffixes, []string{"@1flows", "@16flows"}), "comparisons at %v", suffixes)
	must.Equal(t, map[string]string{"bulk@4streams": "bulk@4streams.iperf3", "bulk@50streams": "bulk@50streams.iperf3"}, Verifications(s))
}

// A claim about a sweep has sides at each level that all its sweeps have, under the names of results.
func TestClaimLevels(t *testing.T) {
	s := sample()
	s.Workloads = append(s.Workloads,
		study.Workload{ID: "curve", Kind: "udp_sweep", Rates: quantity.Rates{200e6, 1500e6}},
		study.Workload{ID: "more", Kind: "udp_sweep", Rates: quantity.Rates{100e6, 200e6}},
		study.Workload{ID: "flows", Kind: "tcp_rr", FlowCounts: study.Counts{1, 16}})
	s.Scenarios = []study.Scenario{{ID: "B", Mode: "x", Workload: "curve"}, {ID: "C", Mode: "x", Workload: "more"}, {ID: "D", Mode: "x", Workload: "tcp_rr"}}
	for _, tt := range []struct {
		claim study.Claim
		want  []string
	}{
		{study.Claim{Of: study.Names{"B", "C"}}, []string{"200 Mbit/s: x curve@200Mbit/s, x more@200Mbit/s"}},
		{study.Claim{Of: study.Names{"D", "B"}}, []string{"200 Mbit/s: x tcp_rr, x curve@200Mbit/s", "1500 Mbit/s: x tcp_rr, x curve@1500Mbit/s"}},
		{study.Claim{Of: study.Names{"x", "host"}, Workload: "flows"}, []string{"1 flow: x flows@1flows, host flows@1flows", "16 flows: x flows@16flows, host flows@16flows"}},
		{study.Claim{Of: study.Names{"x", "host"}, Over: study.Names{"host", "D"}}, []string{": x tcp_rr, host tcp_rr, host tcp_rr, x tcp_rr"}},
		{study.Claim{Of: study.Names{"host", "B"}}, []string{"200 Mbit/s: host curve@200Mbit/s, x curve@200Mbit/s", "1500 Mbit/s: host curve@1500Mbit/s, x curve@1500Mbit/s"}},
	} {
		var got []string
		names := Names(s)
		for _, at := range ClaimLevels(s, tt.claim) {
			label := ""
			if at.Level != nil {
				label = at.Level.Label()
			}
			var sides []string
			for _, side := range slices.Concat(at.Of, at.Over) {
				sides = append(sides, side.Mode+" "+side.Workload)
				must.True(t, slices.Contains(names, side.Workload), "%s is no workload of a result", side.Workload)
			}
			got = append(got, label+": "+strings.Join(sides, ", "))
		}
		must.EqualFor(t, tt.claim, tt.want, got)
	}
}
