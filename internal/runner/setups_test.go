//go:build linux

package runner_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/runner"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// setUps asks for measured set-ups over a family.
func setUps(family string, blocks int) func(*study.Study) {
	return func(s *study.Study) {
		s.Workloads, s.Blocks = []study.Workload{{ID: "setup", Kind: study.SetupKind, Family: family}}, blocks
		s.Recreate = study.RecreateOnce()
	}
}

// Each trial is a set-up of its own, with its moments in their order, over a proven path.
func TestSetUpIsMeasured(t *testing.T) {
	modes := []string{"host", "host-local", "netns/published", "netns/bridge", "netns/ptp", "netns/colocated", "netns/macvlan", "netns/vxlan"}
	for _, family := range []string{study.IPv4, study.IPv6} {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			run, trials := runStudy(t.Context(), t, netns.Driver{}, modes, setUps(family, 2), nil)
			must.Require(t, len(trials) == 2*len(modes) && run.Trials.OK == len(trials), "trials %v", outcomes(trials))
			for i, tr := range trials {
				m := tr.Metrics
				if !(m[result.SetupSandbox] > 0) || m[result.SetupConnect] < m[result.SetupSandbox]+m[result.SetupOwn] || m[result.SetupFirstByte] < m[result.SetupConnect] || m[result.SetupFirst200] < m[result.SetupFirstByte] {
					t.Errorf("%s: %v", tr.Mode, m)
				}
				must.True(t, !slices.ContainsFunc(trials[:i], func(o result.Trial) bool { return o.Mode == tr.Mode && o.Setup == tr.Setup }),
					"%s: set-up %d has two trials", tr.Mode, tr.Setup)
			}
			must.True(t, len(run.SetupTimes) == 5*len(modes) && run.SetupTimes[0].Setups == 2, "set-up times %+v", run.SetupTimes)
			for _, m := range run.Modes {
				must.True(t, m.Status == result.ModeMeasured && m.Proof != nil && m.Proof.Holds && m.Proof.Workload == "setup", "%s is %s, proof %+v", m.ID, m.Status, m.Proof)
			}
		})
	}
}

// Other workloads are measured on the path that the last set-up has made.
func TestSetUpBesideOthers(t *testing.T) {
	t.Parallel()
	run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host", "netns/published"}, func(s *study.Study) {
		others := s.Workloads
		setUps(study.IPv4, 2)(s)
		s.Workloads = append(s.Workloads, others...)
	}, nil)
	must.True(t, len(trials) == 8 && run.Trials.OK == 8, "trials %v", outcomes(trials))
}

// A server that listens late is reached by so much later.
func TestSetUpOfLateServer(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	run, trials := runAs(t.Context(), t, netns.Driver{}, []string{"netns/published"}, setUps(study.IPv4, 1), nil,
		func(c runner.Config) runner.Config { return runner.WithServerLate(c, late) })
	must.True(t, len(trials) == 1 && run.Trials.OK == 1 && trials[0].Metrics[result.SetupConnect]-trials[0].Metrics[result.SetupSandbox] >= late.Seconds(),
		"with a server that is %s late: %v, %v", late, outcomes(trials), trials)
}

// around builds the modes of another driver whose first connection stays within the server's sandbox.
type around struct{ netns.Driver }

func (d around) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	if c := o.Clock; c != nil {
		o.Clock = &driver.SetupClock{OnPair: func(_, server driver.InStack, listen, _ []netip.AddrPort) { c.Pair(server, server, listen, listen) }}
		c.LabBegins()
	}
	return d.Driver.Provision(ctx, o)
}

// An answer that did not come over the path of the mode is void.
func TestSetUpAroundThePathIsVoid(t *testing.T) {
	t.Parallel()
	run, trials := runStudy(t.Context(), t, around{}, []string{"netns/published"}, setUps(study.IPv4, 2), nil)
	must.True(t, len(trials) == 1 && trials[0].Void && trials[0].Metrics == nil && strings.Contains(trials[0].Reason, "counter "), "trials %v, %+v", outcomes(trials), trials)
	if m := run.Modes[slices.IndexFunc(run.Modes, func(m result.Mode) bool { return m.ID == "netns/published" })]; m.Status != result.ModeVoid || len(run.SetupTimes) != 0 {
		t.Errorf("the mode is %s, times %v", m.Status, run.SetupTimes)
	}
}

// silent builds the modes of another driver, and fails each measured set-up but the first.
type silent struct {
	netns.Driver
	failed *int
}

func (d silent) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	if o.Clock != nil {
		*d.failed++
		o.Clock = nil // the driver tells nothing
	}
	return d.Driver.Provision(ctx, o)
}

// A set-up that could not be measured fails its trial, which is tried again, and leaves the others their mode.
func TestSetUpThatFails(t *testing.T) {
	t.Parallel()
	failed := 0
	run, trials := runStudy(t.Context(), t, silent{failed: &failed}, []string{"netns/published"}, func(s *study.Study) {
		others := s.Workloads
		setUps(study.IPv4, 1)(s)
		s.Workloads = append(s.Workloads, others...)
	}, nil)
	ok := slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Status != result.TrialOK })
	must.True(t, failed == 2 && len(trials) == 3 && len(ok) == 1 && ok[0].Workload == "tcp_rr" && run.Status == result.RunComplete, "%d attempts: %v", failed, outcomes(trials))
	must.Equal(t, 0, len(run.SetupTimes))
}
