package study_test

import (
	"testing"

	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// flows and streams take a number or an ascending list of numbers, and a resolved study
// writes the list back as it was.
func TestCounts(t *testing.T) {
	cat := studytest.Catalog()
	for _, c := range []struct{ keys, want string }{
		{"workload: tcp_stream, streams: [1, 4, 16]", ""},
		{"workload: tcp_stream, streams: [4]", ""},
		{"workload: udp_stream, flows: [1, 1000]", ""},
		{"workload: tcp_stream, streams: 7", ""},
		{"workload: tcp_stream, streams: [4, 1]", "streams contains 1 after 4; want ascending values without duplicates"},
		{"workload: tcp_stream, streams: [4, 4]", "streams contains 4 after 4"},
		{"workload: tcp_stream, streams: [0, 4]", "streams holds 0; want a whole number from 1 to 1000"},
		{"workload: tcp_stream, streams: [4, 1001]", "streams holds 1001; want a whole number from 1 to 1000"},
		{"workload: tcp_stream, streams: []", "streams is an empty list; want a whole number from 1 to 1000, or a list of them, such as [1, 4, 16]"},
		{"workload: tcp_stream, streams: [1, x]", "streams contains \"x\"; want a whole number"},
		{"workload: tcp_stream, streams: {from: 1}", "streams is a mapping; want a whole number from 1 to 1000, or a list"},
		{"workload: tcp_stream, streams: many", "streams is \"many\"; want a whole number from 1 to 1000, or a list"},
		{"workload: tcp_stream, streams: 0", "streams is 0; want a whole number from 1 to 1000"},
		{"workload: tcp_stream, flows: [1, 2]", "tcp_stream does not take flows"},
		{"workload: udp_stream, flows: [2, 8], threads: 4", "threads is 4 for 2 streams; want at most one each"},
		{"workload: udp_stream, flows: [4, 8], threads: 4", ""},
	} {
		s, err := studyfile.Decode("s.yaml", []byte("modes: [host]\nworkloads: [{"+c.keys+"}]\n"), cat)
		if c.want != "" {
			must.Fail(t, err, c.want)
			continue
		}
		named := must.Named(t, c.keys)
		must.Do(named, err)
		full := must.Get(study.Resolve(s, cat))(named)
		again := must.Get(studyfile.Decode("s.yaml", must.Get(studyfile.Marshal(full))(named), cat))(named)
		key, list := full.Workloads[0].Concurrency()
		if k, l := again.Workloads[0].Concurrency(); k != key || l.String() != list.String() || again.Workloads[0].Streams != full.Workloads[0].Streams {
			t.Errorf("%s: written as %s %v, read as %s %v", c.keys, key, list, k, l)
		}
		n := max(1, len(list))
		must.True(t, full.Trials() == n*full.Blocks*len(full.Modes), "%s: %d trials in %d blocks, want %d for each", c.keys, full.Trials(), full.Blocks, n)
	}
}

// The load of a sweep over rates and of a search is not varied a second time.
func TestCountsBesideRates(t *testing.T) {
	cat := study.Catalog{
		Modes:     []study.Offer{{ID: "host"}},
		Workloads: []study.WorkloadSpec{{Kind: "sweep", Params: []string{"flows", "rates"}}, {Kind: "search", Params: []string{"flows", "loss_goals"}}},
	}
	for _, kind := range cat.Kinds() {
		found := study.Check(study.Study{Modes: study.ModesOf("host"), Workloads: []study.Workload{{Kind: kind, FlowCounts: study.Counts{1, 2}}}}, cat, nil)
		must.True(t, len(found) == 1 && found[0].Text == "flows is a list, but "+kind+" already varies the load; want one number", "%s: %v", kind, found)
	}
}
