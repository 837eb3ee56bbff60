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

// Exchanges beside a stream over the same link: the path is proven with what both carried, and the load's goodput is about the link's rate at most.
func TestWithLoad(t *testing.T) {
	t.Parallel()
	const rate = 200e6
	loaded := exchanges("tcp_rr")
	loaded.WithLoad, loaded.Slice, loaded.Warmup, loaded.Duration = study.TCPLoad, quantity.AtOnce, quantity.WaitOf(300*time.Millisecond), quantity.Duration(time.Second)
	run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host", "netns/bridge"}, func(s *study.Study) {
		s.Lab.Rate = rate
		s.Workloads = []study.Workload{loaded}
	}, nil)
	for _, mode := range []string{"host", "netns/bridge"} {
		if m := modeOf(t, run, mode); m.Status != result.ModeMeasured {
			t.Errorf("%s: %s %s", mode, m.Status, m.Reason)
		}
	}
	valid := 0
	for _, tr := range trials {
		if tr.Status != result.TrialOK {
			continue
		}
		valid++
		if load := tr.Metrics[result.LoadGoodput]; load <= 0 || load > 1.5*rate { // what the buffer of a receiver that got no CPU held comes on top
			t.Errorf("%s: a load of %g bit/s", tr.Mode, load)
		}
		if _, cost := tr.Metrics[result.CPUCostTransactions]; cost || tr.Metrics["transaction_rate"] <= 0 || len(tr.Pairs) > 0 {
			t.Errorf("%s: %v in %d pairs", tr.Mode, tr.Metrics, len(tr.Pairs))
		}
	}
	must.True(t, valid != 0, "no valid trial: %v", outcomes(trials))
}
