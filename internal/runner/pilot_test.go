//go:build linux

package runner_test

import (
	"slices"
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
)

// streaming is a bulk workload over a slow and quiet underlay.
func streaming(s *study.Study) {
	s.Lab.Rate = 50e6
	s.Workloads = []study.Workload{{
		ID: "tcp_stream", Kind: "tcp_stream", Streams: 1, WriteSize: 16 << 10, Direction: study.Forward, Family: study.IPv4, Congestion: "cubic",
		SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer(), Placement: study.Free, Slice: study.AtOnce,
		Warmup: study.WaitOf(100 * time.Millisecond), Duration: study.Duration(200 * time.Millisecond),
	}}
}

// Method 1.4: a pilot trial of each mode sets the warm-up of the bulk trials, for
// all modes alike, and is itself in no cell.
func TestPilot(t *testing.T) {
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/macvlan"}, func(s *study.Study) {
		streaming(s)
		s.Pilot, s.Blocks = study.WaitOf(2*time.Second), 1
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Pilots) != 2 || len(run.Lengths) != 1 {
		t.Fatalf("pilots %+v, lengths %+v", run.Pilots, run.Lengths)
	}
	most := 0.5
	for _, p := range run.Pilots {
		if p.Warmup == nil || *p.Warmup > p.Length/2 || p.Workload != "tcp_stream" {
			t.Fatalf("pilot %+v", p)
		}
		most = max(most, *p.Warmup)
	}
	if l := run.Lengths[0]; l.FromBlock != 1 || l.Warmup != most || l.Duration != 0.2 {
		t.Errorf("length %+v, want a warm-up of %g s", l, most)
	}
	var pilots, others int
	for _, tr := range trials {
		switch {
		case tr.Block == 0 && tr.Pilot && tr.Warmup == 0 && tr.Window == 2:
			pilots++
		case tr.Block == 1 && !tr.Pilot && tr.Warmup == most && tr.Window == 0.2:
			others++
		}
	}
	if pilots < 2 || others < 2 {
		t.Errorf("%d pilots and %d others of %d trials: %+v", pilots, others, len(trials), trials)
	}
	for _, c := range run.Cells {
		if c.N != 1 {
			t.Errorf("cell %+v counts %d trials, want 1", c, c.N)
		}
	}
	if run.Trials.OK != 4 && run.Trials.OK != 2 {
		t.Errorf("trials %+v", run.Trials)
	}
	t.Run("resumed", func(t *testing.T) {
		again, more, err := runStudyAfter(t, slices.DeleteFunc(trials, func(tr result.Trial) bool { return !tr.Pilot }), netns.Driver{}, []string{"host", "netns/macvlan"}, func(s *study.Study) {
			streaming(s)
			s.Pilot, s.Blocks = study.WaitOf(2*time.Second), 1
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(more, func(tr result.Trial) bool { return tr.Pilot }) || len(again.Lengths) != 1 || again.Lengths[0].Warmup != most {
			t.Errorf("%d trials, lengths %+v: want the same warm-up without new pilots", len(more), again.Lengths)
		}
	})
}

// A longer warm-up of the study is kept, whatever pilots show.
func TestPilotLeavesLongerWarmup(t *testing.T) {
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host"}, func(s *study.Study) {
		streaming(s)
		s.Workloads[0].Warmup = study.WaitOf(1200 * time.Millisecond)
		s.Pilot, s.Blocks = study.WaitOf(2*time.Second), 1
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last := trials[len(trials)-1]; len(run.Pilots) != 1 || last.Warmup != 1.2 {
		t.Errorf("pilots %+v, a trial with %g s of warm-up", run.Pilots, last.Warmup)
	}
}
