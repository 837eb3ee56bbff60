package plan

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// A workload that is to be verified has a verification workload with the other tool in
// every block.
func TestTwins(t *testing.T) {
	s := sample()
	s.Workloads[0].VerifyWith, s.Workloads[0].Tool = "iperf3", study.BuiltIn
	s.Workloads[0].Slice = quantity.Duration(25 * time.Millisecond)
	p := Make(s)
	must.Equal(t, []string{"tcp_stream", "tcp_stream.iperf3", "tcp_rr"}, Names(s))
	must.Equal(t, map[string]string{"tcp_stream": "tcp_stream.iperf3"}, Verifications(s))
	verifications := map[int]int{}
	for _, tr := range trials(p) {
		w := tr.Workload
		if w.ID != "tcp_stream.iperf3" {
			must.True(t, tr.Sliced() == (w.ID == "tcp_stream"), "%s sliced: %t", w.ID, tr.Sliced())
			continue
		}
		verifications[tr.Block]++
		must.True(t, w.Tool == "iperf3" && w.VerifyWith == "" && w.Duration == s.Workloads[0].Duration && !tr.Sliced(), "twin %+v", w)
	}
	for block := 1; block <= s.Blocks; block++ {
		must.True(t, verifications[block] == len(s.Modes), "block %d has %d verifications of %d", block, verifications[block], len(s.Modes))
	}
}

// The name of a verification workload does not collide with a name in the study.
func TestTwinNames(t *testing.T) {
	s := sample()
	s.Workloads[0].VerifyWith, s.Workloads[1].ID = "iperf3", "tcp_stream.iperf3"
	must.Equal(t, []string{"tcp_stream", "tcp_stream.iperf3.", "tcp_stream.iperf3"}, Names(s))
}

// A generator that cannot pause runs whole trials.
func TestWhole(t *testing.T) {
	slice, long := quantity.Duration(25*time.Millisecond), quantity.Duration(time.Second)
	for name, tt := range map[string]struct {
		w    study.Workload
		want bool
	}{
		"a slice":                {study.Workload{Kind: "tcp_rr", Slice: slice, Duration: long}, true},
		"by tare":                {study.Workload{Kind: "tcp_rr", Tool: study.BuiltIn, Slice: slice, Duration: long}, true},
		"in reverse":             {study.Workload{Kind: "tcp_stream", Direction: study.Reverse, Slice: slice, Duration: long}, true},
		"a tool":                 {study.Workload{Kind: "tcp_stream", Tool: "iperf3", Slice: slice, Duration: long}, false},
		"a slice as long as all": {study.Workload{Kind: "tcp_rr", Slice: long, Duration: long}, false},
		"no slice":               {study.Workload{Kind: "tcp_rr", Duration: long}, false},
		"an unknown workload":    {study.Workload{Kind: "nothing", Slice: slice, Duration: long}, false},
	} {
		must.EqualFor(t, name+": sliced", tt.want, (Trial{Workload: tt.w}).Sliced())
	}
}

func TestOverhead(t *testing.T) {
	for name, tt := range map[string]struct {
		w    study.Workload
		want time.Duration
	}{
		"tare":   {study.Workload{Kind: "tcp_rr", Tool: study.BuiltIn}, TrialOverhead},
		"a tool": {study.Workload{Kind: "tcp_stream", Tool: "iperf3"}, TrialOverhead + ToolOverhead},
		"pairs": {study.Workload{Kind: "tcp_rr", Pairs: 10, Slice: quantity.Duration(20 * time.Millisecond), Duration: quantity.Duration(160 * time.Millisecond)},
			TrialOverhead + 10*(PairOverhead+10*PairSliceOverhead)},
		"datagrams": {study.Workload{Kind: "udp_stream", PayloadSize: 1400}, TrialOverhead + DrainOverhead},
	} {
		must.EqualFor(t, name, tt.want, (Trial{Workload: tt.w}).Overhead())
	}
}
