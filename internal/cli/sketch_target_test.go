//go:build linux

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/agent/transport"
	"tare/internal/cli"
	"tare/internal/driver"
	"tare/internal/hosts"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// sketch is the least that a target can be: two hosts, on each of which agents are
// started by a command, with no lab and no engine. Runner, report and command line know
// nothing of it but what driver.Target and driver.Path say. Here env starts
// this program itself, and the path is the machine's loopback device.
const sketchScheme = "command:"

func sketchKind() hosts.Kind {
	ours := func(name string) bool { return strings.HasPrefix(name, sketchScheme) && len(name) > len(sketchScheme) }
	return hosts.Kind{
		Name: "command", Matches: ours, WellFormed: ours,
		Study: func(study.Target) string { return "default" },
		New: func(t study.Target, _ hosts.Options) driver.Target {
			d := sketchDriver{start: strings.TrimPrefix(t.Name, sketchScheme)}
			return driver.Target{
				Hosts: d.hosts(), Drivers: driver.Registry{d}, Restricted: true,
				DescribeChanges: func(study.Study) []string { return []string{"agents, started by: " + d.start} },
				Begin: func(driver.Run) (driver.HostInfo, error) {
					return driver.HostInfo{Hosts: d.hosts(), Report: []result.Host{{Name: "left"}, {Name: "right"}}}, nil
				},
				Close: func() error { return nil },
			}
		},
	}
}

// sketchDriver builds modes between two hosts that it is given.
type sketchDriver struct{ start string }

// hosts are machines of which this program reads nothing itself: agents do.
func (sketchDriver) hosts() []driver.Host { return []driver.Host{{Name: "left"}, {Name: "right"}} }

func (sketchDriver) Modes() []driver.Mode {
	return []driver.Mode{{ID: "host", Title: "process to process"}, {ID: "command/again", Title: "the same once more", Baseline: "host"}}
}

func (d sketchDriver) Probe(context.Context, driver.Order) error { return nil }

func (d sketchDriver) Provision(_ context.Context, o driver.Order) (*driver.Path, error) {
	if err := o.CheckPairs(); err != nil {
		return nil, err
	}
	by := transport.Local{Start: func(c *exec.Cmd) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		c.Args = append([]string{d.start}, append([]string{self}, c.Args[1:]...)...)
		c.Path, err = exec.LookPath(d.start)
		if err != nil {
			return err
		}
		return c.Start()
	}}
	p := &driver.Path{
		Mode: o.Mode, Hosts: d.hosts(),
		Rules:    []driver.Rule{{Counter: "left/lo.tx_bytes", Expect: driver.BothAtLeast}},
		Snapshot: func(context.Context) (driver.Counters, error) { return loopback() },
		Topology: func() (result.Topology, error) {
			return result.Topology{
				Nodes: []result.Node{{ID: "n0", Kind: "process", Host: "left"}, {ID: "n1", Kind: "loopback", Host: "left", Label: "lo", Counters: []string{"left/lo.tx_bytes"}}, {ID: "n2", Kind: "process", Host: "right"}},
				Edges: []result.Edge{{From: "n0", To: "n1"}, {From: "n1", To: "n2"}},
			}, nil
		},
		FlushConnections: func(context.Context) error { return nil },
		Close:            func(context.Context) error { return nil },
	}
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	for range o.Pairs {
		p.Pairs = append(p.Pairs, driver.Pair{
			Client: driver.Endpoint{Name: "left", Host: "left", Stack: "left", Launcher: by},
			Server: driver.Endpoint{Name: "right", Host: "right", Stack: "right", Launcher: by, Listen: []netip.AddrPort{at}, Dial: []netip.AddrPort{at}},
		})
	}
	return p, nil
}

// loopback reads what the loopback device has sent.
func loopback() (driver.Counters, error) {
	text, err := os.ReadFile("/sys/class/net/lo/statistics/tx_bytes")
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return driver.Counters{"left/lo.tx_bytes": n}, err
}

// A new kind of target is measured, its CPU cost read through its agents, judged and
// reported by what it says of itself.
func TestSketchTarget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "study.yaml")
	text := "engine: command:env\nblocks: 2\nsettle: 300ms\nmodes: [host, command/again]\nworkloads:\n- {workload: tcp_rr, request_size: 32KiB, response_size: 32KiB, warmup: 50ms, duration: 500ms, slice: 100ms, family: ipv4}\n"
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	out := filepath.Join(dir, "run")
	for _, args := range [][]string{{"plan", file}, {"run", file, "--out", out}, {"report", out}, {"export", out}} {
		var stdout, stderr bytes.Buffer
		app := cli.New(result.Build{Version: "test"})
		app.Kinds = append(app.Kinds, sketchKind())
		app.Stdout, app.Stderr = &stdout, &stderr
		if code := app.Main(t.Context(), args); code != 0 {
			t.Fatalf("tare %s ends with %d: %s%s", strings.Join(args, " "), code, stdout.String(), stderr.String())
		}
		must.True(t, args[0] == "export" || strings.Contains(stdout.String(), "command/again"), "tare %s does not name the mode:\n%s", args[0], stdout.String())
	}
	run, trials := loaded(t, out)
	noneFailed(t, trials)
	must.True(t, run.Trials.OK == 4 && len(run.Hosts) == 2 && run.Hosts[0].Name == "left", "%+v, hosts %+v", run.Trials, run.Hosts)
	for _, trial := range trials {
		// What it cost cannot be told where others keep the machine busy; what was worked can.
		must.True(t, trial.Status == result.TrialFailed || trial.Machine["cpu_time"] > 0 && trial.Machine["pressure_elapsed"] > 0,
			"%s in block %d: its agents read nothing of the machine: %v", trial.Mode, trial.Block, trial.Machine)
	}
	for _, m := range run.Modes {
		must.True(t, m.Status == result.ModeMeasured && m.Proof != nil && m.Proof.Holds, "%s is %s %s, proof %+v", m.ID, m.Status, m.Reason, m.Proof)
	}
	for _, name := range []string{"command:", "commander:x", "command"} {
		var stderr bytes.Buffer
		app := cli.New(result.Build{Version: "test"})
		app.Kinds, app.Stderr = append(app.Kinds, sketchKind()), &stderr
		if code := app.Main(t.Context(), []string{"run", "--engine", name}); code != 2 {
			t.Errorf("--engine %s ends with %d: %s", name, code, stderr.String())
		}
	}
}

func loaded(t *testing.T, path string) (result.Run, []result.Trial) {
	t.Helper()
	dir := must.Get(store.Open(path))(t)
	defer dir.Close()
	run, trials, err := dir.Load()
	if err != nil {
		t.Fatal(fmt.Errorf("load %s: %w", path, err))
	}
	return run, trials
}

// noneFailed fails the test for each trial that failed, but for those that did not suit their path, which the program repeats in another form:
// as often as a busy machine makes the path slow.
func noneFailed(t *testing.T, trials []result.Trial) {
	t.Helper()
	for i, tr := range trials {
		repeated := strings.Contains(tr.Reason, "; it is repeated ") && slices.ContainsFunc(trials[i:], func(o result.Trial) bool {
			return o.Mode == tr.Mode && o.Workload == tr.Workload && o.Block == tr.Block && o.Status == result.TrialOK
		})
		must.True(t, tr.Status != result.TrialFailed || repeated, "%s %s in block %d, attempt %d, failed: %s", tr.Mode, tr.Workload, tr.Block, tr.Attempt, tr.Reason)
	}
}
