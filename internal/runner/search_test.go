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

// searching is a short search on a path of so many bit/s.
func searching(s *study.Study, rate quantity.Rate) {
	s.Lab.Rate = rate
	s.Workloads = []study.Workload{{
		ID: "most", Kind: "udp_search", LossGoals: quantity.LossGoals{0, 0.01}, Goal: study.Median, ExceedRatio: quantity.PortionOf(0.5),
		Step: quantity.Duration(200 * time.Millisecond), StepSum: quantity.Duration(600 * time.Millisecond), Precision: 0.05,
		Pause: quantity.WaitOf(20 * time.Millisecond), MinRate: 1e6, MaxRate: 200e6, MaxSearch: quantity.Duration(4 * time.Second),
		Flows: 1, PayloadSize: 1400, Burst: 64, Offload: study.Off, Fragment: study.Off, Direction: study.Forward, Family: study.IPv4,
		SendBuffer: quantity.Buffer(4 << 20), ReceiveBuffer: quantity.Buffer(4 << 20), Placement: study.Free, Warmup: quantity.WaitOf(20 * time.Millisecond),
	}}
}

// A search on a path of known rate finds no more than it carries, and not a tenth of it or less: a busy
// machine keeps a sender from its schedule, which makes the answer lower. Its steps add up to what the
// path was proven to carry.
func TestAloneSearch(t *testing.T) {
	for _, rate := range []quantity.Rate{20e6, 100e6} {
		run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host", "netns/bridge"}, func(s *study.Study) { searching(s, rate) }, nil)
		must.Require(t, run.Trials.OK == 2, "trials %+v", trials)
		carries := float64(rate) * 1400 / (1400 + 28 + 14)
		for _, tr := range trials {
			// The path's token bucket lets 64 KiB pass beyond its rate: a fifth of what 20 Mbit/s carry in a step.
			most := tr.Metrics["throughput_1"]
			t.Logf("%s: %.4g bit/s at 1 %% loss, %.4g without, on a path of %.4g", tr.Mode, most, tr.Metrics["throughput_0"], carries)
			must.True(t, tr.Search != nil && len(tr.Search.Goals) == 2 && most >= carries/10 && most <= carries*1.35,
				"%s: %.4g bit/s on a path of %.4g; steps %+v", tr.Mode, most, carries, tr.Steps)
			var sent int64
			for _, st := range tr.Steps {
				sent += st.Sent
			}
			if got := *tr.Client.Datagrams.Sent; got < sent {
				t.Errorf("%s: the client sent %d datagrams, its steps %d that count", tr.Mode, got, sent)
			}
		}
		must.True(t, slices.ContainsFunc(run.Cells, func(c result.Cell) bool {
			return c.Metric == "throughput_1" && c.Mode == "netns/bridge" && c.Ratio != nil
		}), "no cell of throughput_1: %+v", run.Cells)
	}
}
