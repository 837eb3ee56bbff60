//go:build linux

package runner_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
)

// The CPU cost of a trial on a real lab follows from its record, whether the trial ran
// alone or interleaved: the CPU time above its baseline and other programs, for
// everything that arrived, warm-up included. On a machine too busy to measure it, the run
// reports that instead.
func TestAloneBill(t *testing.T) {
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/macvlan"}, func(s *study.Study) {
		s.Blocks, s.Settle = 1, study.WaitOf(300*time.Millisecond)
		stream := s.Workloads[0]
		s.Workloads[0].RequestSize, s.Workloads[0].ResponseSize = 256, 256 // enough for a proof on any machine
		stream.ID, stream.Kind, stream.Streams, stream.WriteSize = "stream", "tcp_stream", 1, 128<<10
		stream.SendBuffer, stream.ReceiveBuffer, stream.Slice = study.Buffer(1<<20), study.Buffer(1<<20), study.Duration(50*time.Millisecond)
		s.Workloads = append(s.Workloads, stream)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if trials = tried(t, &run, trials); len(trials) == 0 {
		t.Fatalf("%v, status %s, %d trials went well", err, run.Status, len(trials))
	}
	warned := slices.ContainsFunc(run.Warnings, func(w result.Warning) bool { return w.Code == "no_cpu_bill" })
	for _, tr := range trials {
		m := tr.Machine
		carried, metric := float64(tr.Client.BytesSent)/256/1000, result.CPUCostTransactions
		if tr.Workload == "stream" {
			carried, metric = float64(tr.Server.BytesReceived)*8/1e9, result.CPUCost
			if timed := tr.Metrics["goodput"] * tr.Window / 1e9; tr.Turns != 2 || !(carried > timed) {
				t.Errorf("%s in %d turns carried %g Gbit, %g of it timed", tr.Mode, tr.Turns, carried, timed)
			}
		}
		if !(m["cpu_time"] > 0) || !(m["cpu_time"] <= m["clock_elapsed"]) || !(m["cpu_time"] >= tr.Traffic) {
			t.Errorf("%s %s: CPU time of %g s, of %g with traffic, in %g", tr.Mode, tr.Workload, m["cpu_time"], tr.Traffic, m["clock_elapsed"])
		}
		cost, there := tr.Metrics[metric]
		if !there {
			if !warned {
				t.Errorf("%s %s: no %s, and no warning of it; machine %v", tr.Mode, tr.Workload, metric, m)
			}
			continue
		}
		want := (m["cpu_busy"] - m["cpu_time"]*(m["cpu_baseline"]+m["others_cpu"]/m["clock_elapsed"])) / carried
		if math.Abs(cost/want-1) > 1e-6 {
			t.Errorf("%s %s: %s is %g, by the record %g", tr.Mode, tr.Workload, metric, cost, want)
		}
	}
}
