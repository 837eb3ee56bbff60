//go:build linux

package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/engine/private"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// engineStudy would run for minutes, on engines and a Swarm.
const engineStudy = `name: engines
blocks: 50
settle: 10ms
modes: [host, docker/bridge, docker/overlay]
invalid: {steal: off, others: off, cpu_wait: off, unsettled: off}
workloads:
  - {workload: tcp_rr, warmup: 50ms, duration: 500ms}
`

// enginesOf finds the engines that a process has started: their run's id and their
// directories.
func enginesOf(pid int) (run string, dirs []string) {
	for _, p := range descendants(pid) {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p), "cmdline"))
		args := strings.Split(string(line), "\x00")
		if err == nil && len(args) > 5 && args[1] == private.InitCommand {
			run, dirs = args[3], append(dirs, args[5])
		}
	}
	return run, dirs
}

// Wherever in its set-up kill -9 meets a run, its engines end with it, with all
// that they run, and gc removes what is left.
func TestEnginesKilled(t *testing.T) {
	needRoot(t)
	drivertest.NeedEngine(t)
	there := func(patterns ...string) bool {
		for _, p := range patterns {
			if found, err := filepath.Glob(p); err == nil && len(found) > 0 {
				return true
			}
		}
		return false
	}
	for _, tt := range []struct {
		name  string
		stage func(out, run string, dirs []string) bool
	}{
		{"an engine begins", func(string, string, []string) bool { return true }},
		{"an engine answers", func(_, _ string, dirs []string) bool { return there(filepath.Join(dirs[0], "docker.sock")) }},
		{"a container runs", func(_, run string, _ []string) bool {
			group := "tare-" + run + "-*/*/cgroup.procs"
			return there("/sys/fs/cgroup/"+group, "/sys/fs/cgroup/*/"+group)
		}},
		{"trials are made", func(out, _ string, _ []string) bool { return trialsIn(out) > 0 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := studyIn(t, engineStudy)
			out := filepath.Join(dir, "run")
			p := start(t, dir, "run", "study.yaml", "--out", out)
			var run string
			reached := func() bool {
				var dirs []string
				run, dirs = enginesOf(p.cmd.Process.Pid)
				return len(dirs) > 0 && tt.stage(out, run, dirs)
			}
			// Four engines and a Swarm take two seconds, and minutes beside a dozen others.
			for deadline := time.Now().Add(timelimit.Scaled(time.Minute)); !reached(); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					_ = p.cmd.Process.Signal(syscall.SIGINT)
					t.Fatalf("exit code %d before the stage was reached:\n%s", p.wait(t), p.stderr.String())
				}
			}
			must.Do(t, p.cmd.Process.Kill())
			p.wait(t)
			until(t, "the engines to end", func() bool {
				return len(processes(func(args []string, _ int) bool { return len(args) > 3 && args[3] == run })) == 0
			})
			var would string
			until(t, "what the engines started to end", func() bool {
				dry := start(t, dir, "gc", "--dry-run")
				must.EqualFor(t, "exit code of the dry run", 0, dry.wait(t))
				would = dry.stdout.String()
				return !strings.Contains(would, "remove process ")
			})
			p = start(t, dir, "gc")
			must.EqualFor(t, "exit code of gc", 0, p.wait(t))
			must.Equal(t, strings.ReplaceAll(would, "would remove ", "removed "), p.stdout.String())
			must.Contain(t, p.stdout.String(), "removed engine "+run)
			if found := append(left(t, run), enginesLeft(t, run)...); len(found) > 0 {
				t.Errorf("left behind: %v", found)
			}
		})
	}
}

// enginesLeft names what is still there of a run's engines: directories, control
// groups, processes and mounts.
func enginesLeft(t *testing.T, run string) []string {
	t.Helper()
	all := must.Get(private.Leftovers(nil))(t)
	var found []string
	for _, l := range all {
		if l.Run == run {
			found = append(found, l.What)
		}
	}
	mounts := must.Get(os.ReadFile("/proc/self/mountinfo"))(t)
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, run) && !strings.Contains(line, linuxnet.PinDir) {
			found = append(found, "mount "+line)
		}
	}
	return found
}

// eventStudy has the two events in which the server of a private engine ends, in a mode whose baseline has neither.
const eventStudy = `name: events
blocks: 2
settle: 10ms
modes: [host, {id: cold, mode: docker/published, with: {live_restore: off}}]
invalid: {steal: off, others: off, cpu_wait: off, unsettled: off}
workloads:
  - {workload: tcp_rr, warmup: 50ms, duration: 200ms}
  - {id: replaced, workload: http, event: endpoint_replaced, transaction_rate: 100, duration: 12s}
  - {id: restarted, workload: http, event: engine_restart, transaction_rate: 100, duration: 24s}
`

// A run goes on after an event in which the server of a mode has ended: all trials are valid, what the first server and the other one answered
// is recorded, and each trial has a set-up of its own.
func TestEnginesServerEnds(t *testing.T) {
	needRoot(t)
	drivertest.NeedEngine(t)
	dir := studyIn(t, eventStudy)
	out := filepath.Join(dir, "run")
	p := start(t, dir, "run", "study.yaml", "--out", out, "--json")
	p.ends(t, 0)
	run := readRun(t, out)
	must.True(t, run.Status == result.RunComplete && run.Trials.OK == 8, "%s, %+v: %s", run.Status, run.Trials, p.stderr.String())
	setups := map[int]string{}
	for line := range bytes.Lines(must.Get(os.ReadFile(filepath.Join(out, store.TrialsFile)))(t)) {
		var trial result.Trial
		must.Do(t, json.Unmarshal(line, &trial))
		if trial.Event == nil {
			continue
		}
		servers := 0
		for name, n := range trial.Event.Changed {
			if strings.HasSuffix(name, ".answered_requests") && n > 0 {
				servers++
			}
		}
		must.EqualFor(t, trial.Workload+": servers that answered", 2, servers)
		must.EqualFor(t, trial.Workload+": another with its set-up", "", setups[trial.Setup])
		setups[trial.Setup] = trial.Workload
	}
	must.Equal(t, 4, len(setups))
	must.EqualFor(t, "left", 0, len(left(t, run.ID)))
}
