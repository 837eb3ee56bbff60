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
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// The kernel's drop reasons account for most losses of each of two modes that are
// interleaved on the same port: in slices, and in the steps of a search. The path is
// slower than the offered load, so that its queue drops.
func TestAloneDropReasons(t *testing.T) {
	w, err := drops.New("/proc")
	if _, none := os.Stat("/sys/kernel/btf/vmlinux"); errors.Is(err, fs.ErrPermission) || err != nil && none != nil {
		testneed.Missing(t, testneed.BPF, err)
	}
	must.Do(t, err)
	must.Do(t, w.Close())
	run, trials := runStudy(t.Context(), t, netns.Driver{}, nil, func(s *study.Study) {
		s.Modes = []study.Mode{{Mode: "netns/published"}, {ID: "again", Mode: "netns/published"}}
		searching(s, 50e6)
		s.Workloads[0].MaxSearch = quantity.Duration(time.Second)
		s.Workloads = append(s.Workloads, study.Workload{
			ID: "turns", Kind: "udp_stream", Flows: 2, PayloadSize: 1000, Rate: 200e6, Burst: 64, Offload: study.Off, Fragment: study.Off, Family: study.IPv4,
			Direction: study.Forward, Slice: quantity.Duration(100 * time.Millisecond), SendBuffer: quantity.Buffer(4 << 20), ReceiveBuffer: quantity.Buffer(4 << 20), Placement: study.Free,
			Warmup: quantity.WaitOf(20 * time.Millisecond), Duration: quantity.Duration(400 * time.Millisecond),
		})
	}, nil)
	must.Require(t, run.Trials.OK == 4, "trials %+v", trials)
	for _, w := range run.Warnings {
		must.True(t, !strings.Contains(w.Text, "drop reasons"), "warned: %s", w.Text)
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
		t.Logf("%s of %s: %+v", tr.Workload, tr.Mode, *tr.Losses)
		// Not every loss is a drop: the last may come when their receiver has stopped. And not
		// every drop is a loss: a datagram that does not count may come then, too.
		if lost := tr.Losses.Lost; dropped < lost/2 || dropped > 2*lost || queued == 0 {
			t.Errorf("%s of %s lost %d, the kernel says %+v (%v)", tr.Workload, tr.Mode, lost, tr.Losses.Reasons, tr.Losses.Missing)
		}
	}
}
