//go:build linux

package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/engine/private"
	"tare/internal/live"
	"tare/internal/observe"
	"tare/internal/observe/stacks"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// both is the modes of both drivers.
type both struct{}

func (both) of(mode string) labdriver.Driver {
	if strings.HasPrefix(mode, "docker/") {
		return engines.Docker{}
	}
	return netns.Driver{}
}

func (both) Modes() []driver.Mode {
	return slices.Concat(netns.Driver{}.Modes(), engines.Docker{}.Modes())
}
func (b both) Probe(ctx context.Context, o labdriver.Order) error {
	return b.of(o.Mode).Probe(ctx, o)
}
func (b both) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	return b.of(o.Mode).Provision(ctx, o)
}

// needStacks skips the test where stacks cannot be sampled, and says why.
func needStacks(t *testing.T) {
	t.Helper()
	s, err := stacks.Open("/proc", observe.Own{PID: os.Getpid()})
	if errors.Is(err, stacks.ErrUnavailable) {
		testneed.Missing(t, testneed.Root, err)
	}
	must.Do(t, err)
	must.Do(t, s.Close())
}

// On a real lab each mode's own part shows in its breakdown, and less in that of the bare host: the
// samples of trials that only sample, and those of an interleaved cost pass. A neighbour's soft
// interrupts may be among them. Which part a stack belongs to is tested with recorded stacks, in
// package stacks.
func TestAloneBreakdown(t *testing.T) {
	testneed.NotShort(t)
	drivertest.NeedLab(t)
	needStacks(t)
	own := map[string]string{"netns/published": "netfilter", "netns/vxlan": "VXLAN"}
	modes := []string{"host", "netns/published", "netns/vxlan"}
	if private.MissingRequirements(t.Context()) == nil {
		own["docker/userland-proxy"] = "userspace proxy"
		modes = append(modes, "docker/userland-proxy")
	}
	stream := bulkStream()
	pass := study.CostPass{Rate: 10e9, FromBlock: 1, Every: 1, Warmup: quantity.WaitOf(20 * time.Millisecond), Duration: quantity.Duration(2 * time.Second)}
	for name, c := range map[string]struct {
		modes []string
		slice quantity.Duration
		pass  study.CostPass
	}{"trials that only sample": {modes, quantity.AtOnce, study.CostPass{}}, "an interleaved pass": {[]string{"host", "netns/vxlan"}, quantity.Duration(50 * time.Millisecond), pass}} {
		t.Run(name, func(t *testing.T) {
			var dir string
			run, trials := runStudy(t.Context(), t, both{}, c.modes, func(s *study.Study) {
				s.Evidence.Stacks, s.CostPass, stream.Slice = study.On, c.pass, c.slice
				s.Workloads = []study.Workload{stream}
			}, func(e live.Event) {
				if ended, ok := e.(live.Ended); ok {
					dir = ended.Dir
				}
			})
			share := map[string]map[string]float64{}
			for _, b := range run.Breakdowns {
				must.Require(t, b.Missing == "" && b.Samples >= 50 && b.Cost != nil && b.Unit == "s/Gbit" && b.CPUs != nil, "breakdown %+v", b)
				share[b.Mode] = map[string]float64{}
				for _, p := range b.Components {
					share[b.Mode][p.Name] = p.Share
				}
				t.Logf("%s: %v, unknown %.3f", b.Mode, share[b.Mode], b.Unknown)
			}
			must.Require(t, len(share) == len(c.modes), "breakdowns of %d modes, want %d: %+v", len(share), len(c.modes), run.Warnings)
			for _, m := range c.modes[1:] {
				if of, host := share[m][own[m]], share["host"][own[m]]; of == 0 || host >= of {
					t.Errorf("%s is %.1f %% of %s and %.1f %% of host", own[m], 100*of, m, 100*host)
				}
			}
			for _, tr := range trials {
				if tr.Stacks != nil && tr.Stacks.Seconds > tr.Elapsed { // which is without the slices of other modes
					t.Errorf("%s: stacks were sampled for %g s of its %g s", tr.Mode, tr.Stacks.Seconds, tr.Elapsed)
				}
			}
			if slices.Contains(c.modes, "docker/userland-proxy") {
				twice(t, dir)
			}
		})
	}
}

// bulkStream is a bulk transfer of a second.
func bulkStream() study.Workload {
	return study.Workload{
		ID: "stream", Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, Direction: study.Forward, Family: study.IPv4, Congestion: "reno", SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
		Placement: study.Free, Warmup: quantity.WaitOf(100 * time.Millisecond), Duration: quantity.Duration(time.Second),
	}
}

// twice shows by the folded stacks that docker-proxy moves the payload itself, by copy or
// splice, and through TCP a second time.
func twice(t *testing.T, dir string) {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(dir, result.StacksFile("docker/userland-proxy", "stream"))))(t)
	counted := must.Get(stacks.Read(data))(t)
	of, sorter := map[stacks.Kind]map[string]int{}, stacks.NewClassifier()
	for folded, n := range counted {
		s := stacks.Unfold(folded)
		if of[s.Kind] == nil {
			of[s.Kind] = map[string]int{}
		}
		of[s.Kind][sorter.Component(s)] += n
	}
	for _, kind := range []stacks.Kind{stacks.Generator, stacks.Proxy} {
		must.True(t, of[kind]["copy"] != 0 && of[kind]["TCP/UDP"] != 0, "of kind %s: %v", kind, of[kind])
	}
}
