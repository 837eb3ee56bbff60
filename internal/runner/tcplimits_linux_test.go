package runner_test

import (
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// On a real lab with a slow underlay, what limits TCP is what was made to: the
// underlay, the receiver's buffer, or a sender with little to send.
func TestAloneWhoLimits(t *testing.T) {
	stream := func(id string, change func(*study.Workload)) study.Workload {
		w := study.Workload{
			ID: id, Kind: "tcp_stream", Streams: 2, WriteSize: 64 << 10, Rate: quantity.Unlimited, Direction: study.Forward, Family: study.IPv4, Congestion: "reno",
			SendBuffer: quantity.Buffer(4 << 20), ReceiveBuffer: quantity.Buffer(4 << 20), Placement: study.Free,
			Warmup: quantity.WaitOf(200 * time.Millisecond), Duration: quantity.Duration(500 * time.Millisecond),
		}
		change(&w)
		return w
	}
	run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host"}, func(s *study.Study) {
		s.Lab.Rate = 100_000_000
		s.Evidence = study.Evidence{Counters: study.On}
		s.Workloads = []study.Workload{
			stream("underlay", func(*study.Workload) {}),
			stream("receiver", func(w *study.Workload) { w.ReceiveBuffer = quantity.Buffer(2048) }),
			stream("sender", func(w *study.Workload) { w.Rate, w.WriteSize, w.Direction = 1e6, 10_000, study.Reverse }),
		}
	}, nil)
	limits := map[string]result.TCPLimits{}
	for _, l := range run.TCPLimits {
		limits[l.Workload] = l
	}
	// A segment that finds the tiny buffer full is dropped and sent again, and the kernel
	// attributes that wait to the network: one of them takes 0.4 of the window.
	for id, c := range map[string]struct {
		most   func(result.TCPLimits) *float64
		least  float64
		sender string
	}{
		"underlay": {func(l result.TCPLimits) *float64 { return l.Network }, 0.6, "client"},
		"receiver": {func(l result.TCPLimits) *float64 { return l.ReceiveWindow }, 0.3, "client"},
		"sender":   {func(l result.TCPLimits) *float64 { return l.Application }, 0.6, "server"},
	} {
		l := limits[id]
		share := c.most(l)
		if share == nil || *share < c.least || id != "receiver" && *l.ReceiveWindow > 0.1 || l.Sender != c.sender || l.Trials != 1 || len(l.Missing) > 0 || l.Mode != "host" {
			t.Errorf("%s: %+v", id, l)
			continue
		}
		t.Logf("%s: application %.2f, receive window %.2f, send buffer %.2f, network %.2f, retransmits %v", id, *l.Application, *l.ReceiveWindow, *l.SendBuffer, *l.Network, l.Retransmits)
	}
	for _, tr := range trials {
		must.True(t, len(tr.Limits) == 1 && tr.Limits[0].Mode == "" && tr.Limits[0].Trials == 0, "trial of %s: %+v", tr.Workload, tr.Limits)
	}
}
