//go:build linux

package runner_test

import (
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
)

// A real pass: from block 2 on every mode at one rate, half of the slowest mode's, each
// trial alone; none exceeds it, and the stopping rule ignores it.
func TestAloneCostPass(t *testing.T) {
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/macvlan"}, func(s *study.Study) {
		streaming(s)
		s.Blocks, s.MaxTime = 3, study.Duration(time.Hour) // no busy machine ends it earlier
		s.Stop = &study.Stop{MinBlocks: 2, Width: 1e100, ExtraBlocks: 1}
		s.CostPass = study.CostPass{Rate: study.PassAuto, FromBlock: 2, Every: 1, Times: 1, Warmup: study.WaitOf(100 * time.Millisecond), Duration: study.Duration(500 * time.Millisecond)}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := run.CostPass
	if c == nil || c.Missing != "" || c.Block != 1 || c.Workload != "tcp_stream" || c.Rate <= 0 || c.Rate > 26e6 {
		t.Fatalf("cost pass %+v of a link of 50 Mbit/s", c)
	}
	n := map[string]int{}
	for _, tr := range trials {
		switch {
		case tr.Workload != study.CostPassID && tr.Rate != 0:
			t.Errorf("%s was asked for %g bit/s", tr.Workload, tr.Rate)
		case tr.Workload == study.CostPassID && tr.Block == 2 && tr.Rate == c.Rate && tr.Window == 0.5:
			n[tr.Mode]++
		case tr.Workload == study.CostPassID:
			t.Errorf("pass in block %d at %g bit/s", tr.Block, tr.Rate)
		}
	}
	if n["host"] < 1 || n["netns/macvlan"] < 1 {
		t.Errorf("trials of the pass: %v", n)
	}
	for _, cell := range run.Cells {
		if cell.Workload == study.CostPassID && cell.Metric == "goodput" && cell.Value != nil && *cell.Value > 1.3*c.Rate { // it may catch up with 0.1 s of 0.5 s
			t.Errorf("%s had %g bit/s at %g", cell.Mode, *cell.Value, c.Rate)
		}
	}
	if run.Stopping == nil || run.Stopping.Reason != result.StopSettled {
		t.Errorf("stopping %+v", run.Stopping)
	}
}
