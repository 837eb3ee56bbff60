//go:build linux

package runner_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/observe/drops"
	"tare/internal/result"
	"tare/internal/study"
)

// The kernel's drop reasons account for the losses of each of two modes that are
// interleaved on the same port: in slices, and in the steps of a search. The path is
// slower than the offered load, so that its queue drops.
func TestAloneDropReasons(t *testing.T) {
	w, err := drops.New("/proc")
	if _, none := os.Stat("/sys/kernel/btf/vmlinux"); errors.Is(err, fs.ErrPermission) || err != nil && none != nil {
		t.Skipf("needs the right to load eBPF, and BTF: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	run, trials, err := runStudy(t, netns.Driver{}, nil, func(s *study.Study) {
		s.Modes, s.Blocks = []study.Mode{{Mode: "netns/published"}, {ID: "again", Mode: "netns/published"}}, 1
		searching(s, 50e6)
		s.Workloads[0].MaxSearch = study.Duration(time.Second)
		s.Workloads = append(s.Workloads, study.Workload{
			ID: "turns", Kind: "udp_stream", Flows: 2, PayloadSize: 1000, Rate: 200e6, Burst: 64, Offload: study.Off, Fragment: study.Off, Family: study.IPv4,
			Direction: study.Forward, Slice: study.Duration(100 * time.Millisecond), SendBuffer: study.Buffer(4 << 20), ReceiveBuffer: study.Buffer(4 << 20), Placement: study.Free,
			Warmup: study.WaitOf(20 * time.Millisecond), Duration: study.Duration(400 * time.Millisecond),
		})
	}, nil)
	if err != nil || run.Trials.OK != 4 {
		t.Fatalf("%v, trials %+v", err, trials)
	}
	for _, w := range run.Warnings {
		if strings.Contains(w.Text, "drop reasons") {
			t.Errorf("warned: %s", w.Text)
		}
	}
	for _, tr := range trials {
		if tr.Losses == nil || tr.Losses.Lost == 0 {
			t.Errorf("%s of %s lost nothing: %+v", tr.Workload, tr.Mode, tr.Losses)
			continue
		}
		var dropped, queued int64
		for _, d := range tr.Losses.Reasons {
			dropped += d.Count
			if drops.Place(d) == result.PlaceQdisc {
				queued += d.Count
			}
		}
		// Not every loss is a drop: the last may come when their receiver has stopped. And not
		// every drop is a loss: a datagram that does not count may come then, too.
		if lost := tr.Losses.Lost; float64(dropped) < 0.95*float64(lost) || float64(dropped) > 1.05*float64(lost) || queued == 0 {
			t.Errorf("%s of %s lost %d, the kernel says %+v (%v)", tr.Workload, tr.Mode, lost, tr.Losses.Reasons, tr.Losses.Missing)
		}
		if u := tr.Losses.Unexplained; float64(u) > 0.05*float64(tr.Losses.Lost) {
			t.Errorf("%s of %s: %d of %d are unexplained: %+v", tr.Workload, tr.Mode, u, tr.Losses.Lost, tr.Losses.Places)
		}
	}
}
