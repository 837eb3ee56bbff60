//go:build linux

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/docker"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/engine/private"
	"tare/internal/live"
	"tare/internal/observe"
	"tare/internal/observe/stacks"
	"tare/internal/result"
	"tare/internal/study"
)

// both is the modes of both drivers.
type both struct{}

func (both) of(mode string) labdriver.Driver {
	if strings.HasPrefix(mode, "docker/") {
		return docker.Driver{}
	}
	return netns.Driver{}
}

func (both) Modes() []driver.Mode {
	return slices.Concat(netns.Driver{}.Modes(), docker.Driver{}.Modes())
}
func (b both) Probe(ctx context.Context, o labdriver.ModeSpec) error {
	return b.of(o.Mode).Probe(ctx, o)
}
func (b both) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	return b.of(o.Mode).Provision(ctx, o)
}

// needStacks skips the test where stacks cannot be sampled, and says why.
func needStacks(t *testing.T) {
	t.Helper()
	s, err := stacks.Open("/proc", observe.Own{PID: os.Getpid()})
	if errors.Is(err, stacks.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Of the real lab: each mode's own part shows in its breakdown, and not in that of the
// bare host. A neighbour's soft interrupts may be among the samples, so that "not" is
// a third of what the mode has, or less, in one of a few runs; and shares are of what is not
// beside the mode.
func TestAloneBreakdown(t *testing.T) {
	drivertest.NeedLab(t)
	needStacks(t)
	const attempts = 3
	for attempt := 1; ; attempt++ {
		blurred := breakdown(t)
		if len(blurred) == 0 {
			return
		}
		if attempt == attempts || t.Failed() {
			t.Fatalf("in %d runs, at last: %q", attempt, blurred)
		}
		t.Logf("measured again: %q", blurred)
	}
}

// breakdown checks a run, and returns the parts that are not told from the bare host's.
func breakdown(t *testing.T) (blurred []string) {
	t.Helper()
	modes := []string{"host", "netns/published", "netns/vxlan"}
	engines := private.MissingRequirements(t.Context()) == nil
	if engines {
		modes = append(modes, "docker/userland-proxy")
	}
	var dir string
	run, trials, err := runStudy(t, both{}, modes, func(s *study.Study) {
		s.Blocks, s.Evidence.Stacks = 1, study.On
		s.Workloads[0] = study.Workload{
			ID: "stream", Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, Family: study.IPv4, Congestion: "reno", SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer(),
			Placement: study.Free, Warmup: study.WaitOf(100 * time.Millisecond), Duration: study.Duration(time.Second), Slice: study.AtOnce,
		}
	}, func(e live.Event) {
		if ended, ok := e.(live.Ended); ok {
			dir = ended.Dir
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	share := map[string]map[string]float64{}
	for _, b := range run.Breakdowns {
		if b.Missing != "" || b.Samples < 50 || b.Cost == nil || b.Unit != "s/Gbit" || b.CPUs == nil {
			t.Fatalf("breakdown %+v", b)
		}
		if b.Unknown > 0.15 {
			t.Errorf("%s: no rule knows %.0f %%", b.Mode, 100*b.Unknown)
		}
		var own float64
		share[b.Mode] = map[string]float64{}
		for _, c := range b.Components {
			if !result.Beside(c.Name) {
				own += c.Share
			}
		}
		for _, c := range b.Components {
			share[b.Mode][c.Name] = c.Share / own
		}
	}
	if len(share) != len(modes) {
		t.Fatalf("breakdowns of %d modes, want %d: %+v", len(share), len(modes), run.Warnings)
	}
	for _, tt := range []struct{ mode, component string }{{"netns/published", "netfilter"}, {"netns/vxlan", "VXLAN"}, {"docker/userland-proxy", "userspace proxy"}} {
		if !slices.Contains(modes, tt.mode) {
			continue
		}
		of, host := share[tt.mode][tt.component], share["host"][tt.component]
		if of < 0.005 || host > of/3 {
			blurred = append(blurred, fmt.Sprintf("%s is %.1f %% of %s and %.1f %% of host", tt.component, 100*of, tt.mode, 100*host))
		}
	}
	for _, m := range modes {
		for _, c := range []string{"copy", "TCP/UDP"} {
			if share[m][c] < 0.01 {
				t.Errorf("%s is %.1f %% of %s", c, 100*share[m][c], m)
			}
		}
	}
	profiled := slices.DeleteFunc(trials, func(tr result.Trial) bool { return !tr.Profiled })
	for _, tr := range profiled {
		if tr.Stacks == nil || tr.Stacks.Seconds < 0.3 || tr.Window != 1 {
			t.Errorf("profiled trial %+v with %+v", tr, tr.Stacks)
		}
	}
	for _, c := range run.Cells {
		if c.N != 1 {
			t.Errorf("%s %s counts %d trials", c.Mode, c.Metric, c.N)
		}
	}
	if engines {
		twice(t, dir)
	}
	return blurred
}

// twice shows by the folded stacks that docker-proxy moves the payload itself, by copy or
// splice, and through TCP a second time.
func twice(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, result.StacksFile("docker/userland-proxy", "stream")))
	if err != nil {
		t.Fatal(err)
	}
	counted, err := stacks.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	of, sorter := map[stacks.Kind]map[string]int{}, stacks.NewClassifier()
	for folded, n := range counted {
		s := stacks.Unfold(folded)
		if of[s.Kind] == nil {
			of[s.Kind] = map[string]int{}
		}
		of[s.Kind][sorter.Component(s)] += n
	}
	for _, kind := range []stacks.Kind{stacks.Generator, stacks.Proxy} {
		if of[kind]["copy"] == 0 || of[kind]["TCP/UDP"] == 0 {
			t.Errorf("of kind %s: %v", kind, of[kind])
		}
	}
}
