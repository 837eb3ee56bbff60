//go:build linux

package runner_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
)

// inPairs adds a bulk transfer to the study and lets it be driven by two pairs at
// once. The exchanges stay with one.
func inPairs(change func(*study.Study)) func(*study.Study) {
	return func(s *study.Study) {
		if change != nil {
			change(s)
		}
		w := s.Workloads[0]
		w.ID, w.Kind, w.Flows, w.Streams, w.WriteSize, w.Pairs = "bulk", "tcp_stream", 0, 2, 64<<10, 2
		s.Workloads = append(s.Workloads, w)
	}
}

// Several pairs are driven at once, summed and shown apart; a workload with fewer
// leaves the others idle, and every path is proven.
func TestPairs(t *testing.T) {
	for name, change := range map[string]func(*study.Study){"at once": nil, "interleaved": inTurns} {
		t.Run(name, func(t *testing.T) {
			run, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/bridge", "netns/vxlan"}, inPairs(change), nil)
			if err != nil {
				t.Fatal(err)
			}
			trials = tried(t, &run, trials)
			if run.Trials.OK != 12 || len(trials) != 12 {
				t.Fatalf("trials %+v: %+v", run.Trials, run.Modes)
			}
			for _, tr := range trials {
				checkPairs(t, tr)
			}
		})
	}
}

func checkPairs(t *testing.T, tr result.Trial) {
	t.Helper()
	if tr.Workload != "bulk" {
		if tr.Pairs != nil {
			t.Errorf("%s has one pair, and outcomes of %d", tr.Workload, len(tr.Pairs))
		}
		return
	}
	if len(tr.Pairs) != 2 {
		t.Fatalf("trial %d has outcomes of %d pairs", tr.Seq, len(tr.Pairs))
	}
	var goodput float64
	var sent, received int64
	for i, p := range tr.Pairs {
		if p.Metrics["goodput"] <= 0 || p.Client.BytesSent != p.Server.BytesReceived {
			t.Errorf("trial %d, pair %d: %+v", tr.Seq, i+1, p)
		}
		goodput += p.Metrics["goodput"]
		sent, received = sent+p.Client.BytesSent, received+p.Server.BytesReceived
	}
	if got := tr.Metrics["goodput"]; math.Abs(got/goodput-1) > 1e-6 || tr.Client.BytesSent != sent || tr.Server.BytesReceived != received {
		t.Errorf("trial %d: goodput %g of %g, sent %d of %d", tr.Seq, got, goodput, tr.Client.BytesSent, sent)
	}
}

// If one pair fails, the trial fails immediately, and is repeated with all pairs.
func TestOnePairKilled(t *testing.T) {
	long := func(s *study.Study) {
		s.Blocks, s.Workloads[0].Pairs = 1, 2
		s.Workloads[0].Duration = study.Duration(time.Second)
	}
	for name, change := range map[string]func(*study.Study){
		"at once":     long,
		"interleaved": func(s *study.Study) { long(s); inTurns(s) },
	} {
		t.Run(name, func(t *testing.T) {
			run, trials, err := runStudy(t, netns.Driver{}, []string{"netns/bridge"}, change, killer(t, "netns/bridge", 1, "b/server2"))
			if err != nil {
				t.Fatal(err)
			}
			if run.Trials.OK != 1 || run.Trials.Failed != 1 || modeOf(t, run, "netns/bridge").Status != result.ModeMeasured {
				t.Fatalf("trials %+v, mode %+v", run.Trials, run.Modes)
			}
			i := slices.IndexFunc(trials, func(tr result.Trial) bool { return tr.Status == result.TrialFailed })
			if f := trials[i]; !strings.Contains(f.Reason, "pair 2") || !strings.Contains(f.Reason, "killed") || f.Metrics != nil {
				t.Errorf("the failed trial: %+v", f)
			}
		})
	}
}

// Datagrams are accounted for whichever end sends them, and so ends first.
func TestDatagrams(t *testing.T) {
	_, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/bridge"}, func(s *study.Study) {
		w := study.Workload{
			Kind: "udp_stream", Flows: 2, PayloadSize: 1000, Rate: 20e6, Burst: 64, Offload: study.Off, Fragment: study.Off, Family: study.IPv4,
			SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.Buffer(1 << 20), Placement: study.Free, Warmup: study.WaitOf(50 * time.Millisecond), Duration: study.Duration(400 * time.Millisecond),
		}
		turns, back, pairs := w, w, w
		turns.ID, turns.Direction, turns.Slice = "turns", study.Forward, study.Duration(100*time.Millisecond)
		back.ID, back.Direction = "back", study.Reverse
		pairs.ID, pairs.Direction, pairs.Pairs = "pairs", study.Forward, 2
		s.Workloads = []study.Workload{turns, back, pairs}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range trials {
		if tr.Status != result.TrialOK {
			t.Errorf("%s of %s: %s", tr.Workload, tr.Mode, tr.Reason)
			continue
		}
		sender, receiver := tr.Client.Datagrams, tr.Server.Datagrams
		if tr.Workload == "back" {
			sender, receiver = receiver, sender
		}
		if *sender.Sent == 0 || *receiver.Received == 0 || *receiver.Received > *sender.Sent || receiver.Lost == nil || *receiver.Lost < 0 || sender.Slots == nil || tr.GeneratorLimited == nil {
			t.Errorf("%s of %s: sender %+v, receiver %+v", tr.Workload, tr.Mode, *sender, *receiver)
		}
		if _, known := tr.Machine[result.MachineEndpointWait]; !known {
			t.Errorf("%s of %s: unknown how long its endpoints waited for a CPU: %v", tr.Workload, tr.Mode, tr.Machine)
		}
		if (len(tr.Pairs) == 2) != (tr.Workload == "pairs") {
			t.Errorf("%s of %s: %d pairs", tr.Workload, tr.Mode, len(tr.Pairs))
		}
	}
}

// A workload that is verified is measured with both tools, and the run says whether
// they agree. Where the tool is not installed, its trials say so.
func TestVerifyWith(t *testing.T) {
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/macvlan"}, func(s *study.Study) {
		w := &s.Workloads[0]
		w.Kind, w.ID, w.Flows, w.Streams, w.WriteSize, w.VerifyWith = "tcp_stream", "tcp_stream", 0, 1, 64<<10, "iperf3"
		w.Slice = study.Duration(100 * time.Millisecond)
		w.Duration = study.Duration(time.Second)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	verifications := 0
	for _, tr := range trials {
		if tr.Workload != "tcp_stream.iperf3" {
			continue
		}
		verifications++
		if tr.Status != result.TrialOK {
			t.Logf("%s: %s", tr.Mode, tr.Reason)
			if !strings.Contains(tr.Reason, "iperf3") {
				t.Errorf("a reason without the tool: %s", tr.Reason)
			}
		}
	}
	if verifications == 0 {
		t.Error("no trial of the twin")
	}
	if run.Trials.Failed > 0 {
		return
	}
	if len(run.Agreements) != 1 || run.Agreements[0].N != 2 || run.Agreements[0].Ratio == nil || run.Agreements[0].Mode != "netns/macvlan" {
		t.Errorf("agreements %+v", run.Agreements)
	}
}

// If the study requests an external tool, no value comes from another generator.
func TestToolIsNeverReplaced(t *testing.T) {
	_, trials, err := runStudy(t, netns.Driver{}, []string{"host"}, func(s *study.Study) {
		w := &s.Workloads[0]
		w.Kind, w.ID, w.Flows, w.Streams, w.WriteSize, w.Tool = "tcp_stream", "tcp_stream", 0, 1, 64<<10, "iperf3"
		w.Duration = study.Duration(time.Second)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range trials {
		if tr.Status == result.TrialOK && (tr.Tool == nil || tr.Tool.Name != "iperf3") || tr.Status != result.TrialOK && tr.Reason == "" {
			t.Errorf("trial %+v", tr)
		}
	}
}
