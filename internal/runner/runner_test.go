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
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/driver"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/runner"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/traffic/workloads"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// listener keeps the events and lets a test act on them.
type listener struct {
	mu     sync.Mutex
	events []live.Event
	on     func(live.Event)
}

func (l *listener) Handle(e live.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if l.on != nil {
		l.on(e)
	}
}

// runStudy runs a short study of two blocks.
func runStudy(t *testing.T, d labdriver.Driver, modes []string, change func(*study.Study), on func(live.Event)) (result.Run, []result.Trial, error) {
	t.Helper()
	return runStudyAfter(t, nil, d, modes, change, on)
}

// runStudyAfter continues a run that has some trials.
func runStudyAfter(t *testing.T, done []result.Trial, d labdriver.Driver, modes []string, change func(*study.Study), on func(live.Event)) (result.Run, []result.Trial, error) {
	t.Helper()
	return runStudyUntil(t.Context(), t, done, d, modes, change, on)
}

// runStudyUntil does so until a context ends.
func runStudyUntil(ctx context.Context, t *testing.T, done []result.Trial, d labdriver.Driver, modes []string, change func(*study.Study), on func(live.Event)) (result.Run, []result.Trial, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("real runs are left out of the short tests")
	}
	drivertest.NeedLab(t)
	// What runs already is the test program's own, such as its watch on a parent.
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := study.Study{
		Profile: study.Quick, Seed: 11, Modes: study.ModesOf(modes...), Blocks: 2, Margin: 0.1, Settle: study.WaitOf(10 * time.Millisecond),
		Lab: study.Lab{MTU: lab.DefaultMTU, Offload: study.On},
		Workloads: []study.Workload{{
			// A message is half of what a proof asks for: a machine that others hold up
			// carries few.
			ID: "tcp_rr", Kind: "tcp_rr", Flows: 1, RequestSize: 16 << 10, ResponseSize: 16 << 10, Family: study.IPv4, Congestion: "reno", SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer(),
			Placement: study.Free, Warmup: study.WaitOf(20 * time.Millisecond), Duration: study.Duration(200 * time.Millisecond),
		}},
	}
	if change != nil {
		change(&s)
	}
	claim, err := lab.Standalone()
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	dir, err := store.Create(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	build := result.Build{Version: "test"}
	for i, d := range done {
		done[i].Experiment, done[i].Tare = plan.Settings(s).Experiment(d.Mode, d.Workload), build.String()
		if err := dir.Append(done[i]); err != nil {
			t.Fatal(err)
		}
	}
	defer drivertest.Guard(4 * time.Minute)()
	labs := &labdriver.Labs{Claim: claim, LabFor: func(mode string) study.Lab {
		asked, _ := s.ModeNamed(mode)
		return s.LabOf(asked)
	}}
	run, err := runner.Run(ctx, runner.Config{
		Study: s, RunID: claim.ID, Drivers: driver.Registry{labdriver.On(labs, d)}, Dir: dir, Listener: &listener{on: on},
		Build: build, Ground: driver.HostInfo{Hosts: labdriver.Hosts(), CPUs: []int{0}}, Resumed: store.Resumption{Trials: done, Last: len(done)},
	})
	_, trials, lerr := dir.Load()
	if lerr != nil {
		t.Fatal(lerr)
	}
	if pids := agentsOf(claim.ID, ""); len(pids) > 0 {
		t.Errorf("agents left behind: %v", pids)
	}
	return run, trials[len(done):], err
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

// killer ends the agents of a mode in each of its first n trials of block 1, as soon
// as its ends are connected: before that, the trial would get new agents.
func killer(t *testing.T, mode string, n int, end string) func(live.Event) {
	run := ""
	return func(e live.Event) {
		switch e := e.(type) {
		case live.Planned:
			run = e.RunID
		case live.TrialStarted:
			if !slices.Contains(e.Modes, mode) || e.Block != 1 || e.Attempt > n {
				return
			}
			go func() {
				for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
					if pids := agentsOf(run, mode+"@"+end); slices.ContainsFunc(pids, talks) {
						for _, pid := range pids {
							if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
								t.Errorf("kill agent %d: %v", pid, err)
							}
						}
						return
					}
				}
				t.Errorf("the agents of %s@%s never had a connection", mode, end)
			}()
		}
	}
}

func modeOf(t *testing.T, run result.Run, id string) result.Mode {
	t.Helper()
	i := slices.IndexFunc(run.Modes, func(m result.Mode) bool { return m.ID == id })
	if i < 0 {
		t.Fatalf("the run has no mode %s", id)
	}
	return run.Modes[i]
}

// tried returns the trials that a test judges, and takes those that failed out of the
// tally. Of these there may be at most one in four, rounded up, for a reason that is a
// busy machine's, and the run has to have tried each again: all that it must have
// measured is asserted by whoever calls this. What is left out is always told.
func tried(t *testing.T, run *result.Run, trials []result.Trial) []result.Trial {
	t.Helper()
	var kept []result.Trial
	var failed []string
	for i, tr := range trials {
		if tr.Status != result.TrialFailed {
			kept = append(kept, tr)
			continue
		}
		failed = append(failed, fmt.Sprintf("block %d, %s: %s", tr.Block, tr.Mode, tr.Reason))
		if !drivertest.LoadExplains(tr.Reason) {
			t.Errorf("a trial failed for no reason that a busy machine gives: %s", failed[len(failed)-1])
		}
		if !slices.ContainsFunc(trials[i+1:], func(next result.Trial) bool {
			return next.Block == tr.Block && next.Mode == tr.Mode && next.Workload == tr.Workload
		}) {
			t.Errorf("a trial that failed was not tried again: %s", failed[len(failed)-1])
		}
	}
	most := (len(kept) + 3) / 4
	if len(failed) > 0 {
		t.Logf("at most %d of %d trials may fail on a busy machine; saw %d:\n%s", most, len(trials), len(failed), strings.Join(failed, "\n"))
	}
	if len(failed) > most {
		t.Errorf("%d of %d trials failed, more than %d", len(failed), len(trials), most)
	}
	if run.Trials.Failed != len(failed) {
		t.Errorf("the run tells of %d failed trials, there are %d", run.Trials.Failed, len(failed))
	}
	run.Trials.Failed = 0
	return kept
}

// runInterleaved makes the trials of a study take turns.
func inTurns(s *study.Study) { s.Workloads[0].Slice = study.Duration(25 * time.Millisecond) }

func TestRun(t *testing.T) {
	for name, change := range map[string]func(*study.Study){"at once": nil, "interleaved": inTurns} {
		t.Run(name, func(t *testing.T) { testRun(t, change) })
	}
}

func testRun(t *testing.T, change func(*study.Study)) {
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/macvlan"}, change, nil)
	if err != nil {
		t.Fatal(err)
	}
	trials = tried(t, &run, trials)
	if len(trials) == 0 {
		t.Fatalf("modes %+v", run.Modes)
	}
	if want := map[bool]int{true: 2, false: 10}[change == nil]; len(trials[0].Series.Values) != want {
		t.Errorf("%d intervals, want %d", len(trials[0].Series.Values), want)
	}
	if run.Status != result.RunComplete || len(trials) != 4 || run.Trials.OK != 4 {
		t.Errorf("status %s, %d trials, %+v", run.Status, len(trials), run.Trials)
	}
	for _, tr := range trials {
		if tr.Metrics["transaction_rate"] <= 0 || tr.Client == nil || tr.Client.Congestion != "reno" || len(tr.Counters) < 4 {
			t.Errorf("trial %d: %+v", tr.Seq, tr)
		}
		if _, counted := tr.Metrics["retransmits"]; counted {
			t.Errorf("trial %d gives retransmits, which tcp_rr does not count", tr.Seq)
		}
	}
	m := modeOf(t, run, "netns/macvlan")
	if m.Topology == nil || m.Baseline != "host" {
		t.Errorf("mode %+v", m)
	}
	if m.Proof == nil || !m.Proof.Holds {
		t.Fatalf("the last proof: %+v", m.Proof)
	}
	i := slices.IndexFunc(trials, func(tr result.Trial) bool { return tr.Seq == m.Proof.Trial })
	if i < 0 || trials[i].Mode != m.ID || slices.ContainsFunc(m.Proof.Findings, func(f result.Finding) bool {
		return !f.Fits() || *f.Moved != trials[i].Counters[f.Counter]
	}) {
		t.Errorf("the last proof: %+v", m.Proof)
	}
}

// An agent killed once costs its trial, which is tried again in the same block.
func TestAgentKilledOnce(t *testing.T) {
	t.Run("at once, a", func(t *testing.T) { testAgentKilledOnce(t, "a", nil) })
	t.Run("interleaved, b", func(t *testing.T) { testAgentKilledOnce(t, "b", inTurns) })
}

func testAgentKilledOnce(t *testing.T, end string, change func(*study.Study)) {
	long := func(s *study.Study) {
		if change != nil {
			change(s)
		}
		s.Blocks = 1
		untilKilled(s)
	}
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host", "netns/published"}, long, killer(t, "host", 1, end))
	if err != nil {
		t.Fatal(err)
	}
	if run.Trials.OK != 2 || run.Trials.Failed < 1 || modeOf(t, run, "host").Status != result.ModeMeasured {
		t.Errorf("end %s: trials %+v, mode %+v", end, run.Trials, modeOf(t, run, "host"))
	}
	i := slices.IndexFunc(trials, func(tr result.Trial) bool { return tr.Status == result.TrialFailed && tr.Mode == "host" })
	if i < 0 {
		t.Fatalf("end %s: no failed trial: %+v", end, trials)
	}
	if f := trials[i]; f.Attempt != 1 || !strings.Contains(f.Reason, "killed") || f.Metrics != nil {
		t.Errorf("end %s: the failed trial: %+v", end, f)
	}
	again := slices.IndexFunc(trials, func(tr result.Trial) bool { return tr.Attempt == 2 && tr.Mode == "host" })
	if again < i {
		t.Fatalf("end %s: no second attempt behind the first: %+v", end, trials)
	}
	if next := trials[again]; next.Mode != "host" || next.Block != trials[i].Block || next.Status != result.TrialOK {
		t.Errorf("end %s: the second attempt: %+v", end, next)
	}
}

// untilKilled makes trials last until their killer has found them, also on a busy machine.
func untilKilled(s *study.Study) { s.Workloads[0].Duration = study.Duration(2 * time.Second) }

// Killed twice, the mode is failed and the run goes on.
func TestAgentKilledTwice(t *testing.T) {
	run, _, err := runStudy(t, netns.Driver{}, []string{"host", "netns/published"}, untilKilled, killer(t, "netns/published", 2, ""))
	if err != nil {
		t.Fatal(err)
	}
	m := modeOf(t, run, "netns/published")
	if m.Status != result.ModeFailed || !strings.Contains(m.Reason, "2 times") {
		t.Errorf("mode %+v", m)
	}
	if run.Trials.OK != 2 || run.Trials.Failed != 2 || run.Status != result.RunComplete {
		t.Errorf("status %s, trials %+v", run.Status, run.Trials)
	}
	for _, c := range run.Cells {
		if c.Mode == "netns/published" {
			t.Errorf("a failed mode has the cell %+v", c)
		}
	}
}

// stub is a driver over netns whose modes can be made to go wrong.
type stub struct {
	netns.Driver
	provision func(mode string, p *driver.Path) (*driver.Path, error)
}

func (s stub) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	p, err := s.Driver.Provision(ctx, o)
	if err != nil {
		return nil, err
	}
	made, err := s.provision(o.Mode, p)
	if err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return made, nil
}

// Probe says what Provision would, as far as it is about what the kernel lacks.
func (s stub) Probe(_ context.Context, o labdriver.ModeSpec) error {
	_, err := s.provision(o.Mode, nil)
	if u, ok := driver.AsUnsupported(err); ok {
		return u
	}
	return nil
}

// unproven has the proof of a path fail from the second trial on.
func unproven(p *driver.Path, trials *int, why error) *driver.Path {
	p.Checks = append(p.Checks, func() error {
		if *trials++; *trials > 1 {
			return why
		}
		return nil
	})
	return p
}

// A mode whose proof fails is void and has no figure, whatever it gave before.
func TestVoidMode(t *testing.T) {
	t.Run("at once", func(t *testing.T) { testVoidMode(t, nil) })
	t.Run("interleaved", func(t *testing.T) { testVoidMode(t, inTurns) })
}

// A trial that carried too little for a proof does not tell its path: it is tried
// again, and failed when that is no better.
func TestTooLittleForAProof(t *testing.T) {
	trials := 0
	d := stub{provision: func(mode string, p *driver.Path) (*driver.Path, error) {
		if mode == "netns/macvlan" {
			return unproven(p, &trials, fmt.Errorf("only 7 bytes were carried: %w", driver.ErrTooLittleTraffic)), nil
		}
		return p, nil
	}}
	run, all, err := runStudy(t, d, []string{"host", "netns/macvlan"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, tr := range all {
		if tr.Void {
			t.Errorf("trial %+v is void", tr)
		}
		if tr.Status == result.TrialFailed && strings.Contains(tr.Reason, "only 7 bytes") {
			failed++
		}
	}
	if failed != 2 || modeOf(t, run, "netns/macvlan").Status == result.ModeVoid {
		t.Errorf("%d trials failed, want two attempts of one; mode %+v", failed, modeOf(t, run, "netns/macvlan"))
	}
}

func testVoidMode(t *testing.T, change func(*study.Study)) {
	trials := 0
	d := stub{provision: func(mode string, p *driver.Path) (*driver.Path, error) {
		if mode == "netns/macvlan" {
			return unproven(p, &trials, errors.New("the bridge did not count")), nil
		}
		return p, nil
	}}
	run, all, err := runStudy(t, d, []string{"host", "netns/macvlan"}, change, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := modeOf(t, run, "netns/macvlan"); m.Status != result.ModeVoid || !strings.Contains(m.Reason, "the bridge did not count") {
		t.Errorf("mode %+v", m)
	}
	for _, c := range run.Cells {
		if c.Mode == "netns/macvlan" {
			t.Errorf("a void mode has the cell %+v", c)
		}
	}
	i := slices.IndexFunc(all, func(tr result.Trial) bool { return tr.Status == result.TrialFailed })
	if i < 0 || run.Trials.Failed != 1 || all[i].Metrics != nil || all[i].Attempt != 1 || len(all[i].Counters) == 0 {
		t.Errorf("trials %+v: %+v", run.Trials, all)
	}
}

// A resumed run does not try a void mode again.
func TestVoidIsRemembered(t *testing.T) {
	if testing.Short() {
		t.Skip("real runs are left out of the short tests")
	}
	done := []result.Trial{{Schema: result.TrialSchema, Seq: 1, Block: 1, Mode: "netns/macvlan", Workload: "tcp_rr", Attempt: 1,
		Status: result.TrialFailed, Void: true, Reason: "the bridge did not count"}}
	run, _, err := runStudyAfter(t, done, netns.Driver{}, []string{"host", "netns/macvlan"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := modeOf(t, run, "netns/macvlan"); m.Status != result.ModeVoid || m.Reason != "the bridge did not count" {
		t.Errorf("mode %+v", m)
	}
	if run.Trials.OK != 2 || run.Trials.Failed != 1 {
		t.Errorf("trials %+v", run.Trials)
	}
}

// A mode that is unsupported or cannot be built is told with its reason; the
// others are measured. A run of nothing but such is an error.
func TestModesThatCannotBeBuilt(t *testing.T) {
	d := stub{provision: func(mode string, p *driver.Path) (*driver.Path, error) {
		switch mode {
		case "netns/macvlan":
			return nil, &driver.Unsupported{Mode: mode, Reason: "the kernel lacks it"}
		case "netns/bridge":
			return nil, errors.New("no more bridges")
		}
		return p, nil
	}}
	run, _, err := runStudy(t, d, []string{"host", "netns/macvlan", "netns/bridge"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := modeOf(t, run, "netns/macvlan"); m.Status != result.ModeUnsupported || m.Reason != "the kernel lacks it" {
		t.Errorf("mode %+v", m)
	}
	if m := modeOf(t, run, "netns/bridge"); m.Status != result.ModeFailed || !strings.Contains(m.Reason, "no more bridges") {
		t.Errorf("mode %+v", m)
	}
	if run.Trials.OK != 2 || run.Status != result.RunComplete {
		t.Errorf("status %s, trials %+v", run.Status, run.Trials)
	}
	run, _, err = runStudy(t, d, []string{"netns/macvlan"}, nil, nil)
	if !errors.Is(err, runner.ErrNothing) || run.Status != result.RunFailed {
		t.Errorf("status %s, error %v", run.Status, err)
	}
}

// The events of a run tell its whole story in order.
func TestEvents(t *testing.T) {
	var kinds []string
	_, _, err := runStudy(t, netns.Driver{}, []string{"host-local"}, nil, func(e live.Event) {
		switch e.(type) {
		case live.Planned:
			kinds = append(kinds, "planned")
		case live.ModeSettled:
			kinds = append(kinds, "mode")
		case live.TrialStarted:
			kinds = append(kinds, "start")
		case live.TrialEnded:
			kinds = append(kinds, "end")
		case live.Ended:
			kinds = append(kinds, "ended")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(kinds, " "); got != "planned mode start end start end ended" {
		t.Errorf("events: %s", got)
	}
}

// Every workload of the registry runs over every family and direction that its
// parameters allow, through the runner's own mapping of parameters.
func TestParametersReachTheTraffic(t *testing.T) {
	for _, w := range workloads.All() {
		spec, rates := w.Spec(), 1 // a sweep is a workload for each of its rates
		run, trials, err := runStudy(t, netns.Driver{}, []string{"host"}, func(s *study.Study) {
			load := spec.Defaults
			if len(load.Rates) > 0 {
				load.Rates = load.Rates[:2]
				rates = len(load.Rates)
			}
			if len(load.LossGoals) > 0 {
				load.Step, load.StepSum, load.Precision = study.Duration(100*time.Millisecond), study.Duration(300*time.Millisecond), 0.2
				load.MaxRate, load.Pause, load.MaxSearch = 20e6, study.WaitOf(0), study.Duration(2*time.Second)
			}
			load.ID, load.Kind = "w", spec.Kind
			load.Family, load.Congestion, load.SendBuffer, load.ReceiveBuffer = study.IPv6, "reno", study.Buffer(64<<10), study.Buffer(96<<10)
			load.Placement, load.Warmup, load.Duration = study.OneCore, study.WaitOf(20*time.Millisecond), study.Duration(100*time.Millisecond)
			if slices.Contains(spec.Params, "streams") {
				load.Streams, load.Direction = 3, study.Reverse
			}
			if slices.Contains(spec.Params, "request_size") { // enough for a proof, with few exchanges
				load.RequestSize, load.ResponseSize, load.Duration = 1000, 1000, study.Duration(300*time.Millisecond)
			}
			if slices.Contains(spec.Params, "slice") {
				load.Slice = study.Duration(50 * time.Millisecond)
			}
			s.Workloads = []study.Workload{load}
		}, nil)
		if err != nil || run.Trials.OK != 2*rates {
			t.Fatalf("%s: %v, trials %+v", spec.Kind, err, trials)
		}
		for _, e := range []*result.End{trials[0].Client, trials[0].Server} {
			if e.CPU == nil || *e.CPU != 0 || e.SendBuffer != 128<<10 || e.ReceiveBuffer != 192<<10 {
				t.Errorf("%s: an end was set to %+v", spec.Kind, *e)
			}
		}
		if slices.Contains(spec.Params, "streams") && (trials[0].Server.BytesSent == 0 || trials[0].Client.BytesReceived == 0 || trials[0].Client.BytesSent != 0) {
			t.Errorf("%s in reverse: client %+v, server %+v", spec.Kind, *trials[0].Client, *trials[0].Server)
		}
	}
}

// A workload that fails twice is dropped for its mode, and the others go on.
func TestWorkloadDropped(t *testing.T) {
	t.Setenv("PATH", "") // no external generator is found
	run, trials, err := runStudy(t, netns.Driver{}, []string{"host"}, func(s *study.Study) {
		s.Workloads = append(s.Workloads, study.Workload{
			ID: "other", Kind: "tcp_stream", Tool: "ntttcp", Streams: 1, WriteSize: 1400, Family: study.IPv4, Direction: study.Forward, Congestion: "reno",
			SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer(), Placement: study.Free, Slice: study.AtOnce, Duration: study.Duration(100 * time.Millisecond),
		})
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := modeOf(t, run, "host"); m.Status != result.ModeMeasured {
		t.Errorf("mode %+v", m)
	}
	if run.Trials.OK != 2 || run.Trials.Failed != attemptsInTest {
		t.Errorf("trials %+v: %+v", run.Trials, trials)
	}
	i := slices.IndexFunc(run.Warnings, func(w result.Warning) bool { return w.Code == "workload_failed" })
	if i < 0 || run.Warnings[i].Scope != "host other" || !strings.Contains(run.Warnings[i].Text, "not installed") {
		t.Errorf("warnings %+v", run.Warnings)
	}
}

// tcpOnly is a driver whose modes carry no datagrams.
type tcpOnly struct{ netns.Driver }

func (d tcpOnly) Modes() []driver.Mode {
	modes := d.Driver.Modes()
	for i := range modes {
		modes[i].TCPOnly = "its proxies forward TCP connections alone"
	}
	return modes
}

// A mode without datagrams has no trial of a workload over UDP, and says why; a study of these
// alone has no mode.
func TestTCPOnly(t *testing.T) {
	udp := study.Workload{ID: "udp", Kind: "udp_stream", Flows: 1, PayloadSize: 1200, Rate: 10e6, Family: study.IPv4, Placement: study.Free,
		SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer(), Slice: study.AtOnce, Duration: study.Duration(100 * time.Millisecond)}
	run, trials, err := runStudy(t, tcpOnly{}, []string{"host"}, func(s *study.Study) { s.Workloads = append(s.Workloads, udp) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := modeOf(t, run, "host"); m.Status != result.ModeMeasured || run.Trials.OK != 2 || run.Trials.Failed != 0 || len(trials) != 2 {
		t.Errorf("mode %+v, trials %+v", m, run.Trials)
	}
	i := slices.IndexFunc(run.Warnings, func(w result.Warning) bool { return w.Code == "workload_unsupported" })
	if i < 0 || run.Warnings[i].Scope != "host udp" || !strings.Contains(run.Warnings[i].Text, "it sends datagrams, and its proxies forward TCP connections alone") {
		t.Errorf("warnings %+v", run.Warnings)
	}
	run, _, err = runStudy(t, tcpOnly{}, []string{"host"}, func(s *study.Study) { s.Workloads = []study.Workload{udp} }, nil)
	if m := modeOf(t, run, "host"); !errors.Is(err, runner.ErrNothing) || m.Status != result.ModeUnsupported || !strings.Contains(m.Reason, "every workload of the study sends datagrams") {
		t.Errorf("of datagrams alone: %v, %+v", err, m)
	}
}

// attemptsInTest is how often a trial is tried before it is dropped.
const attemptsInTest = 2
