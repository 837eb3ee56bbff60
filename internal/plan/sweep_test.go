package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/study"
)

// A sweep is a separate workload for each of its rates, in every block with every mode,
// and so are its scenarios and comparisons.
func TestSweep(t *testing.T) {
	s := sample()
	s.Workloads = append(s.Workloads,
		study.Workload{ID: "curve", Kind: "udp_sweep", Rates: study.Rates{200e6, 1500e6}, PayloadSize: 1400, Duration: study.Duration(time.Second)},
		study.Workload{ID: "more", Kind: "udp_sweep", Rates: study.Rates{100e6, 200e6}, PayloadSize: 1400, Duration: study.Duration(time.Second)})
	s.Scenarios = []study.Scenario{
		{ID: "A", Mode: "host", Workload: "curve"}, {ID: "B", Mode: "x", Workload: "curve"},
		{ID: "C", Mode: "x", Workload: "more"}, {ID: "D", Mode: "x", Workload: "tcp_rr"},
	}
	want := []string{"tcp_stream", "tcp_rr", "curve@200Mbit/s", "curve@1500Mbit/s", "more@100Mbit/s", "more@200Mbit/s"}
	if diff := cmp.Diff(want, Names(s)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	p := Make(s)
	seen := map[string]int{}
	for _, tr := range trials(p) {
		if len(tr.Workload.Rates) > 0 {
			t.Errorf("%s is to be driven at %v at once", tr.Workload.ID, tr.Workload.Rates)
		}
		if tr.Workload.ID == "curve@1500Mbit/s" && tr.Workload.Rate == 1500e6 {
			seen[tr.Mode]++
		}
	}
	if diff := cmp.Diff(map[string]int{"host": 4, "x": 4, "y": 4}, seen); diff != "" {
		t.Errorf("trials at 1500 Mbit/s (-want +got):\n%s", diff)
	}
	var scenarios []string
	for _, sc := range Scenarios(s) {
		scenarios = append(scenarios, sc.ID+" "+sc.Mode+" "+sc.Workload)
	}
	if diff := cmp.Diff([]string{
		"A@200Mbit/s host curve@200Mbit/s", "A@1500Mbit/s host curve@1500Mbit/s",
		"B@200Mbit/s x curve@200Mbit/s", "B@1500Mbit/s x curve@1500Mbit/s",
		"C@100Mbit/s x more@100Mbit/s", "C@200Mbit/s x more@200Mbit/s", "D x tcp_rr",
	}, scenarios); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
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
		if diff := cmp.Diff(tt.suffixes, suffixes) + cmp.Diff(tt.sides, sides); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.ids, diff)
		}
	}
}
