//go:build linux

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/runner"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

func TestMain(m *testing.M) { drivertest.MainWithoutLeaks(m) }

// listener lets a test act on events.
type listener struct {
	mu sync.Mutex
	on func(live.Event)
}

func (l *listener) Handle(e live.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on != nil {
		l.on(e)
	}
}

// runStudy runs a study of one block on a real lab, until ctx ends.
func runStudy(ctx context.Context, t *testing.T, d labdriver.Driver, modes []string, change func(*study.Study), on func(live.Event)) (result.Run, []result.Trial) {
	t.Helper()
	return runAs(ctx, t, d, modes, change, on, func(c runner.Config) runner.Config { return c })
}

// runAs is runStudy with another configuration of the run.
func runAs(ctx context.Context, t *testing.T, d labdriver.Driver, modes []string, change func(*study.Study), on func(live.Event), as func(runner.Config) runner.Config) (result.Run, []result.Trial) {
	t.Helper()
	testneed.NotShort(t)
	drivertest.NeedLab(t)
	s := study.Study{
		Profile: study.Quick, Seed: 11, Modes: study.ModesOf(modes...), Blocks: 1, Margin: 0.1, Settle: quantity.WaitOf(10 * time.Millisecond),
		Lab: study.Lab{MTU: lab.DefaultMTU, Offload: study.On},
		Workloads: []study.Workload{{
			// A message is half of what a proof asks for.
			ID: "tcp_rr", Kind: "tcp_rr", Flows: 1, RequestSize: 16 << 10, ResponseSize: 16 << 10, Family: study.IPv4, Congestion: "reno", SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
			Placement: study.Free, Warmup: quantity.WaitOf(20 * time.Millisecond), Duration: quantity.Duration(time.Second),
		}},
	}
	if change != nil {
		change(&s)
	}
	claim := must.Get(lab.Standalone())(t)
	defer claim.Release()
	dir := must.Get(store.Create(filepath.Join(t.TempDir(), "run")))(t)
	defer dir.Close()
	defer drivertest.Guard(timelimit.Scaled(4 * time.Minute))()
	labs := &labdriver.Labs{Claim: claim, LabFor: func(mode string) study.Lab {
		asked, _ := s.ModeNamed(mode)
		return s.LabOf(asked)
	}}
	run, err := runner.Run(ctx, as(runner.Config{
		Study: s, RunID: claim.ID, Drivers: driver.Registry{labdriver.On(labs, d)}, Dir: dir, Listener: &listener{on: on}, Progress: traffic.MinProgressInterval,
		Build: result.Build{Version: "test"}, Machines: driver.HostInfo{Hosts: labdriver.Hosts(), CPUs: []int{0}},
	}))
	_, trials, lerr := dir.Load()
	if errors.Is(err, runner.ErrNothing) && len(trials) > 0 {
		err = nil // none of them gave a value, which is for the test to expect
	}
	must.Do(t, errors.Join(err, lerr))
	if pids := agentsOf(claim.ID, ""); len(pids) > 0 {
		t.Errorf("agents left behind: %v", pids)
	}
	return run, trials
}

// agentsOf lists the agents of a run whose place begins with at.
func agentsOf(run, at string) []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(string(line), "\x00")
		if err != nil || len(args) < 6 || args[1] != "agent" || args[3] != run || !strings.HasPrefix(args[5], at) {
			continue
		}
		pid := 0
		for _, c := range filepath.Base(dir) {
			pid = pid*10 + int(c-'0')
		}
		pids = append(pids, pid)
	}
	return pids
}

// talks says whether a process's network namespace has an established TCP connection.
func talks(pid int) bool {
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	return err == nil && strings.Contains(string(table), " 01 ")
}

// killer ends the agents at one end of a mode n times, in trials of a workload, as soon as its ends are
// connected: before that, the trial would get new agents.
func killer(t *testing.T, mode, workload string, n int, end string) func(live.Event) {
	run := ""
	return func(e live.Event) {
		switch e := e.(type) {
		case live.Planned:
			run = e.RunID
		case live.TrialStarted:
			if e.Workload != workload || n == 0 {
				return
			}
			n--
			go func() {
				for until := time.Now().Add(timelimit.Scaled(10 * time.Second)); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
					if pids := agentsOf(run, mode+"@"+end); slices.ContainsFunc(pids, talks) {
						for _, pid := range pids {
							must.EqualFor(t, fmt.Sprintf("kill agent %d", pid), nil, syscall.Kill(pid, syscall.SIGKILL))
						}
						return
					}
				}
				t.Errorf("the agents of %s@%s never had a connection", mode, end)
			}()
		}
	}
}

// outcomes lists how trials ended.
func outcomes(trials []result.Trial) (out []string) {
	for _, tr := range trials {
		out = append(out, fmt.Sprintf("%s of %s: %s %s", tr.Workload, tr.Mode, tr.Status, tr.Reason))
	}
	return out
}

// inLastForm are the trials of a run without those that the program repeats in another form, with longer slices or in one piece: on a
// busy machine a path may seem slow.
func inLastForm(trials []result.Trial) []result.Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(tr result.Trial) bool {
		return strings.Contains(tr.Reason, "; it is repeated with slices of ") || strings.Contains(tr.Reason, "; it is repeated in one piece")
	})
}

func modeOf(t *testing.T, run result.Run, id string) result.Mode {
	t.Helper()
	i := slices.IndexFunc(run.Modes, func(m result.Mode) bool { return m.ID == id })
	must.Require(t, i >= 0, "the run has no mode %s", id)
	return run.Modes[i]
}

// inPairs has the trials of a study take turns, and adds a bulk transfer of two pairs at once.
func inPairs(s *study.Study) {
	s.Workloads[0].Slice = quantity.Duration(100 * time.Millisecond)
	w := s.Workloads[0]
	w.ID, w.Kind, w.Flows, w.Streams, w.WriteSize, w.Pairs = "bulk", "tcp_stream", 0, 2, 64<<10, 2
	s.Workloads = append(s.Workloads, w)
}

// Every trial of a run is measured over a proven path, one after another or interleaved and in pairs.
func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		mode      string
		change    func(*study.Study)
		trials    int
		intervals int
	}{"at once": {"netns/macvlan", nil, 2, 10}, "interleaved": {"netns/bridge", inPairs, 4, 13}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host", c.mode}, c.change, nil)
			last := inLastForm(trials)
			must.Require(t, run.Status == result.RunComplete && len(last) == c.trials && run.Trials == (result.Tally{OK: c.trials, Failed: len(trials) - len(last)}),
				"status %s, trials %v", run.Status, outcomes(trials))
			for _, tr := range last {
				must.True(t, (len(tr.Series.Values) == c.intervals || len(last) < len(trials)) && tr.Client != nil && tr.Client.Congestion == "reno" && len(tr.Counters) >= 4,
					"trial %d has %d intervals: %+v", tr.Seq, len(tr.Series.Values), tr)
				if m := tr.Machine; !(m["cpu_time"] > 0) || !(m["cpu_time"] <= m["clock_elapsed"]) || !(m["cpu_time"] >= tr.Traffic) {
					t.Errorf("trial %d: CPU time of %g s, of %g with traffic, in %g", tr.Seq, m["cpu_time"], tr.Traffic, m["clock_elapsed"])
				}
				if tr.Workload == "bulk" {
					checkPairs(t, tr)
				} else if _, counted := tr.Metrics["retransmits"]; counted || tr.Metrics["transaction_rate"] <= 0 || tr.Pairs != nil {
					t.Errorf("trial %d: %+v", tr.Seq, tr)
				}
			}
			checkProof(t, modeOf(t, run, c.mode), trials)
		})
	}
}

// checkPairs checks that a trial of two pairs is their sum.
func checkPairs(t *testing.T, tr result.Trial) {
	t.Helper()
	var goodput float64
	var sent, received int64
	for i, p := range tr.Pairs {
		must.True(t, p.Metrics["goodput"] > 0 && p.Client.Sent == p.Server.Received, "trial %d, pair %d: %+v", tr.Seq, i+1, p)
		goodput += p.Metrics["goodput"]
		sent, received = sent+p.Client.Sent, received+p.Server.Received
	}
	if got := tr.Metrics["goodput"]; len(tr.Pairs) != 2 || math.Abs(got/goodput-1) > 1e-6 || tr.Client.Sent != sent || tr.Server.Received != received {
		t.Errorf("trial %d of %d pairs: goodput %g of %g, sent %d of %d", tr.Seq, len(tr.Pairs), got, goodput, tr.Client.Sent, sent)
	}
}

// checkProof checks the last proof of a mode against the counters of its trial.
func checkProof(t *testing.T, m result.Mode, trials []result.Trial) {
	t.Helper()
	must.Require(t, m.Topology != nil && m.Baseline == "host" && m.Proof != nil && m.Proof.Holds, "mode %+v, proof %+v", m, m.Proof)
	i := slices.IndexFunc(trials, func(tr result.Trial) bool { return tr.Seq == m.Proof.Trial })
	must.True(t, i >= 0 && trials[i].Mode == m.ID && !slices.ContainsFunc(m.Proof.Findings, func(f result.Finding) bool {
		return !f.Fits() || *f.Moved != trials[i].Counters[f.Counter]
	}), "the last proof: %+v", m.Proof)
}

// An agent killed once costs its trial with all its pairs, which is tried again in the same block.
func TestAgentKilledOnce(t *testing.T) {
	for name, c := range map[string]struct {
		end, pair, workload string
		change              func(*study.Study)
	}{"at once": {"a/client", "", "tcp_rr", func(*study.Study) {}}, "a pair, interleaved": {"b/server2", "pair 2", "bulk", func(s *study.Study) {
		inPairs(s)
		s.Workloads = s.Workloads[1:]
	}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"netns/bridge"}, func(s *study.Study) {
				c.change(s)
				s.Workloads[0].Duration = quantity.Duration(3 * time.Second) // it lasts until it is found
			}, killer(t, "netns/bridge", c.workload, 1, c.end))
			last := inLastForm(trials)
			must.Require(t, run.Trials == (result.Tally{OK: 1, Failed: len(trials) - 1}) && len(last) == 2 && modeOf(t, run, "netns/bridge").Status == result.ModeMeasured,
				"trials %v", outcomes(trials))
			if f := last[0]; f.Attempt != 1 || f.Metrics != nil || !strings.Contains(f.Reason, "killed") || !strings.Contains(f.Reason, c.pair) {
				t.Errorf("the failed trial: %+v", f)
			}
			if again := last[1]; again.Attempt != 2 || again.Block != 1 || again.Status != result.TrialOK {
				t.Errorf("the second attempt: %+v", again)
			}
		})
	}
}

// If the agents of a trial are killed twice, its workload has no result for that mode, and the run goes on.
func TestAgentKilledTwice(t *testing.T) {
	t.Parallel()
	run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"netns/published"}, func(s *study.Study) {
		w := s.Workloads[0]
		w.ID, w.Duration = "killed", quantity.Duration(10*time.Minute)
		s.Workloads = append(s.Workloads, w)
	}, killer(t, "netns/published", "killed", 2, ""))
	must.True(t, run.Trials == (result.Tally{OK: 1, Failed: 2}) && run.Status == result.RunComplete && modeOf(t, run, "netns/published").Status == result.ModeMeasured,
		"status %s, trials %v", run.Status, outcomes(trials))
	must.True(t, slices.ContainsFunc(run.Warnings, func(w result.Warning) bool {
		return w.Code == "workload_failed" && strings.Contains(w.Text, "killed failed 2 times")
	}), "warnings %+v", run.Warnings)
}

// unproven is a driver whose paths are never proven.
type unproven struct{ netns.Driver }

func (d unproven) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	p, err := d.Driver.Provision(ctx, o)
	if err == nil && o.Mode != "host" {
		p.Checks = append(p.Checks, func() error { return errors.New("the bridge did not count") })
	}
	return p, err
}

// A mode whose proof fails is void and has no figure.
func TestVoidMode(t *testing.T) {
	t.Parallel()
	run, trials := runStudy(t.Context(), t, unproven{}, []string{"host", "netns/macvlan"}, nil, nil)
	if m := modeOf(t, run, "netns/macvlan"); m.Status != result.ModeVoid || !strings.Contains(m.Reason, "the bridge did not count") {
		t.Errorf("mode %+v", m)
	}
	i := slices.IndexFunc(trials, func(tr result.Trial) bool { return tr.Mode != "host" })
	must.True(t, run.Trials == (result.Tally{OK: 1, Failed: 1}) && i >= 0 && trials[i].Metrics == nil && trials[i].Attempt == 1 && len(trials[i].Counters) != 0,
		"trials %v", outcomes(trials))
}

// A run reports the rate of each interleaved mode during its trial. It can be interrupted at any time,
// and then records nothing of that trial and leaves nothing behind.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	heard := map[string]int{}
	var trial live.TrialStarted
	run, trials := runStudy(ctx, t, netns.Driver{}, []string{"host", "netns/bridge"}, func(s *study.Study) {
		s.Workloads[0].Duration, s.Workloads[0].Slice = quantity.Duration(10*time.Minute), quantity.Duration(100*time.Millisecond)
	}, func(e live.Event) {
		switch e := e.(type) {
		case live.TrialStarted:
			trial = e
		case live.Progress:
			if e.Rate > 0 { // it is 0 where an end got no CPU
				heard[e.Mode]++
			}
			must.True(t, e.Workload == trial.Workload && e.Unit == "1/s" && e.Rate >= 0 && e.Elapsed > 0, "progress %+v during %+v", e, trial)
			if heard["host"] >= 2 && heard["netns/bridge"] >= 2 {
				enough()
			}
		}
	})
	must.True(t, run.Status == result.RunInterrupted && len(heard) == 2 && len(trials) == 0, "the run is %s, progress was told of %v, trials %v", run.Status, heard, outcomes(trials))
}

// Every workload of the registry runs with all of its parameters, through the runner's own mapping.
func TestParametersReachTheTraffic(t *testing.T) {
	t.Parallel()
	specs := map[string]bool{} // by id: has a direction
	run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host"}, func(s *study.Study) {
		s.Workloads = nil
		for _, w := range workloads.All() {
			spec := w.Spec()
			load := spec.Defaults
			load.Rates = load.Rates[:min(2, len(load.Rates))] // a sweep is a workload for each of its rates
			if len(load.LossGoals) > 0 {
				load.Step, load.StepSum, load.Precision = quantity.Duration(100*time.Millisecond), quantity.Duration(300*time.Millisecond), 0.2
				load.MaxRate, load.Pause, load.MaxSearch = 20e6, quantity.WaitOf(0), quantity.Duration(2*time.Second)
			}
			load.ID, load.Kind = spec.Kind, spec.Kind
			load.Family, load.Congestion, load.SendBuffer, load.ReceiveBuffer = study.IPv6, "reno", quantity.Buffer(64<<10), quantity.Buffer(96<<10)
			load.Placement, load.Warmup, load.Duration = study.OneCore, quantity.WaitOf(20*time.Millisecond), quantity.Duration(500*time.Millisecond)
			if slices.Contains(spec.Params, "streams") {
				load.Streams = 3
			}
			if specs[spec.Kind] = slices.Contains(spec.Params, "direction"); specs[spec.Kind] {
				load.Direction = study.Reverse
			}
			if slices.Contains(spec.Params, "request_size") { // enough for a proof, with few exchanges
				load.RequestSize, load.ResponseSize = 1000, 1000
			}
			if slices.Contains(spec.Params, "slice") {
				load.Slice = quantity.Duration(50 * time.Millisecond)
			}
			s.Workloads = append(s.Workloads, load)
		}
	}, nil)
	trials = inLastForm(trials)
	must.Require(t, run.Trials.OK == len(trials) && len(trials) >= len(specs), "of %d workloads: %v", len(specs), outcomes(trials))
	for _, tr := range trials {
		for _, e := range []*result.End{tr.Client, tr.Server} {
			must.True(t, e.CPU != nil && *e.CPU == 0 && e.SendBuffer == 128<<10 && e.ReceiveBuffer == 192<<10, "%s: an end was set to %+v", tr.Workload, *e)
		}
		must.True(t, !specs[tr.Workload] || tr.Server.Sent != 0 && tr.Client.Received != 0 && tr.Client.Sent == 0,
			"%s in reverse: client %+v, server %+v", tr.Workload, *tr.Client, *tr.Server)
	}
}
