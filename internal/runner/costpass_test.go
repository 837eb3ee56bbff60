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

// An interleaved pass: the stacks that are sampled in the slices of a mode are those of its own path. The
// rate is high so that enough samples are of the tunnel.
func TestAloneInterleavedPass(t *testing.T) {
	needStacks(t)
	const window = 2 * time.Second
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/vxlan"}, func(s *study.Study) {
		s.Blocks, s.Evidence.Stacks = 1, study.On
		s.Workloads[0] = study.Workload{
			ID: "tcp_stream", Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, Direction: study.Forward, Family: study.IPv4, Congestion: "reno",
			SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer(), Placement: study.Free,
			Slice: study.Duration(50 * time.Millisecond), Warmup: study.WaitOf(20 * time.Millisecond), Duration: study.Duration(200 * time.Millisecond),
		}
		s.CostPass = study.CostPass{Rate: 10e9, FromBlock: 1, Every: 1, Warmup: study.WaitOf(20 * time.Millisecond), Duration: study.Duration(window)}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, tr := range trials {
		if tr.Workload != study.CostPassID {
			continue
		}
		seen++
		if tr.Turns != 2 || tr.Stacks == nil || tr.Stacks.Seconds < window.Seconds() || tr.Stacks.Busy == 0 {
			t.Fatalf("%s: %d interleaved trials, stacks %+v", tr.Mode, tr.Turns, tr.Stacks)
		}
		if tr.Stacks.Seconds > tr.Elapsed { // which is without the slices of the other mode
			t.Errorf("%s: stacks were sampled for %g s of its %g s", tr.Mode, tr.Stacks.Seconds, tr.Elapsed)
		}
		if vxlan := tr.Stacks.Components["VXLAN"]; (vxlan > 0) != (tr.Mode == "netns/vxlan") {
			t.Errorf("%s: %d samples of VXLAN", tr.Mode, vxlan)
		}
	}
	if seen < 2 || len(run.Breakdowns) != 2 {
		t.Errorf("%d trials of the pass, breakdowns %+v", seen, run.Breakdowns)
	}
}
