package plan

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// The load is as long as the trial and longer, in the same address family, with the defaults of its kind otherwise.
func TestLoadBeside(t *testing.T) {
	w := study.Workload{Kind: "tcp_rr", Flows: 4, WithLoad: study.TCPLoad, Family: study.IPv6, Congestion: "reno", Placement: study.TwoCores, RequestSize: 1,
		Slice: quantity.AtOnce, Warmup: quantity.WaitOf(500 * time.Millisecond), Duration: quantity.Duration(time.Second)}
	load, ok := LoadBeside(w)
	if !ok || load.Kind != "tcp_stream" || load.Streams != 1 || load.Flows != 0 || load.RequestSize != 0 || load.Family != study.IPv6 || load.Congestion != "reno" ||
		load.Placement != study.TwoCores || load.Rate != quantity.Unlimited || load.WriteSize == 0 || load.Duration <= w.Duration || load.Warmup != w.Warmup {
		t.Errorf("%t %+v", ok, load)
	}
	must.Equal(t, 2, w.Endpoints())
	w.Pairs = 3
	must.Equal(t, 4, w.Endpoints())
	w.WithLoad = ""
	must.Equal(t, 3, w.Endpoints())
	if _, ok := LoadBeside(w); ok {
		t.Error("a load that nobody asked for")
	}
}
