package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
)

// inBench starts tare with args where the bench's machines are reached by their names.
func inBench(t *testing.T, b *machinetest.Bench, dir string, args ...string) *program {
	t.Helper()
	p := prepared(dir, args...)
	p.cmd.Env = b.Environment()
	must.Do(t, b.Controller.Start(p.cmd))
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	return p
}

// between are the flags of a run between both machines of a bench.
func between(args ...string) []string {
	return append(args, "--host", "ssh://a", "--host", "ssh://b")
}

// nothingLeft checks that no process and no file of tare is left on the machines.
func nothingLeft(t *testing.T, b *machinetest.Bench) {
	t.Helper()
	for _, m := range b.Machines {
		until(t, "the end of what ran on machine "+m.Name, func() bool {
			return m.Run(t, `ps -eo args | grep -c '[t]are.*--run' || true`) == "0"
		})
		if left := m.Run(t, "ls -A /tmp /var/tmp /root /dev/shm | grep tare || true"); left != "" {
			t.Errorf("left on machine %s: %s", m.Name, left)
		}
	}
}

// enginesDir has the sockets of the engines that tests start.
const enginesDir = "/var/lib/tare/engines"

const quickStudy = "blocks: 2\npilot: 0s\nsettle: 10ms\nmodes: [host, host-local]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\n" +
	"workloads: [{workload: tcp_rr, duration: 300ms}, {workload: udp_stream, id: udp6, family: ipv6, rate: 50Mbit/s, duration: 300ms}, {workload: tcp_stream, direction: reverse, duration: 300ms}]\n"

// A run between two machines that only ssh reaches: all is measured over the link between
// them, in both directions and address families, with proof and the facts of both.
func TestMachines(t *testing.T) {
	needRoot(t)
	must.Do(t, os.MkdirAll(enginesDir, 0o755))
	b := machinetest.New(t, machinetest.Spec{Name: "a"}, machinetest.Spec{Name: "b", Share: []string{enginesDir}})
	dir := studyIn(t, quickStudy)
	out := filepath.Join(dir, "run")
	p := inBench(t, b, dir, between("run", "study.yaml", "--out", out)...)
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	run, trials := loaded(t, out)
	for _, m := range run.Modes {
		must.True(t, m.Status == result.ModeMeasured && m.Proof != nil && m.Proof.Holds, "%s is %s: %s, proof %+v", m.ID, m.Status, m.Reason, m.Proof)
	}
	noneFailed(t, trials)
	must.True(t, run.Trials.OK == 12 && run.Trials.Invalid == 0, "%+v of %d trials", run.Trials, len(trials))
	for _, at := range []string{b.Machine("b").Link4.String(), b.Machine("b").Link6.String()} {
		must.True(t, slices.Contains(run.Modes[0].Facts, result.Fact{Name: "server address", Value: at}), "host does not use %s: %+v", at, run.Modes[0].Facts)
	}
	must.Contain(t, fmt.Sprintf("%+v", run.Modes[0].Topology.Nodes), machinetest.LinkDevice)
	for i, name := range []string{"a", "b"} {
		h := run.Hosts[i]
		has := func(fact string) bool {
			return slices.ContainsFunc(h.Facts, func(f result.Fact) bool { return f.Name == fact && f.Value != "" })
		}
		must.True(t, h.Name == name && has("reached by") && has("link_mtu"), "host %d: %+v", i, h)
	}
	for _, trial := range trials {
		must.True(t, trial.Status == result.TrialFailed || trial.Machine["cpu_time"] > 0 && trial.Machine["memory_available"] > 0, "%s %s: nothing is known of its machines: %v", trial.Mode, trial.Workload, trial.Machine)
	}
	nothingLeft(t, b)
	t.Run("cut", func(t *testing.T) { connectionCut(t, b) })
	t.Run("interrupted", func(t *testing.T) { interruptedRun(t, b) })
	t.Run("engine", func(t *testing.T) { engineOfMachine(t, b) })
	t.Run("doctor", func(t *testing.T) { doctorMachines(t, b) })
}

// connectionCut ends the connection to a machine while trials run: the modes are set up again over
// another one, and all is measured.
func connectionCut(t *testing.T, b *machinetest.Bench) {
	dir := studyIn(t, "blocks: 6\npilot: 0s\nsettle: 10ms\nrenew: once\nmodes: [host, netns/vxlan]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\nworkloads: [{workload: tcp_rr, duration: 500ms}]\n")
	out := filepath.Join(dir, "run")
	p := inBench(t, b, dir, between("run", "study.yaml", "--out", out)...)
	until(t, "the first trial", func() bool { return trialsIn(out) > 0 })
	b.Machine("b").Run(t, `pkill -f '[s]shd.*@notty'`)
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	run, _ := loaded(t, out)
	must.True(t, run.Trials.OK == 12, "%+v\n%s", run.Trials, p.stderr.String())
	for _, m := range run.Modes {
		must.True(t, m.Status == result.ModeMeasured && slices.Contains(m.Facts, result.Fact{Name: "made", Value: "2 times"}),
			"%s is %s %s and was not set up again: %+v", m.ID, m.Status, m.Reason, m.Facts)
	}
	nothingLeft(t, b)
}

// interruptedRun is ended by Ctrl-C.
func interruptedRun(t *testing.T, b *machinetest.Bench) {
	dir := studyIn(t, quickStudy)
	out := filepath.Join(dir, "run")
	p := inBench(t, b, dir, between("run", "study.yaml", "--out", out)...)
	until(t, "the first trial", func() bool { return trialsIn(out) > 0 })
	must.Do(t, p.cmd.Process.Signal(syscall.SIGINT))
	if code := p.wait(t); code != 130 {
		t.Errorf("exit code %d\n%s", code, p.stderr.String())
	}
	nothingLeft(t, b)
}

// doctorMachines examines two machines, first with a path between them and then without.
func doctorMachines(t *testing.T, b *machinetest.Bench) {
	dir := t.TempDir()
	p := inBench(t, b, dir, between("doctor", "--json", "--modes", "host,netns/vxlan")...)
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	var d struct {
		Ready bool
		Modes []struct{ Mode, Status string }
	}
	if err := json.Unmarshal(p.stdout.Bytes(), &d); err != nil || !d.Ready || len(d.Modes) != 2 || d.Modes[0].Status != "ok" || d.Modes[1].Status != "ok" {
		t.Errorf("%v: %+v\n%s", err, d, p.stdout.String())
	}
	for _, m := range b.Machines {
		m.Run(t, "ip link set "+machinetest.LinkDevice+" down")
	}
	p = inBench(t, b, dir, between("run", "--modes", "host", "--workloads", "tcp_rr")...)
	if code := p.wait(t); code != 3 || !strings.Contains(p.stderr.String(), "no route") || strings.Count(strings.TrimSpace(p.stderr.String()), "\n") > 0 {
		t.Errorf("without a route: exit code %d\n%s", code, p.stderr.String())
	}
	nothingLeft(t, b)
}

// engineOfMachine measures a container on the engine of the server's machine, through the ssh
// connection, against the baseline of the machines; the client's machine has no engine.
func engineOfMachine(t *testing.T, b *machinetest.Bench) {
	drivertest.NeedEngine(t)
	on := b.Machine("b")
	e := must.Get(private.Start(t.Context(), drivertest.Lab(t, nil), &lab.Host{Name: "b", NS: on.NS}))(t)
	t.Cleanup(func() { must.Do(t, private.CloseAll(e)) })
	on.Run(t, "ln -s "+e.Socket()+" /run/docker.sock")
	dir := studyIn(t, "blocks: 2\npilot: 0s\nsettle: 10ms\nmodes: [docker/published, docker/bridge, vm/virtio]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\nworkloads: [{workload: tcp_rr, duration: 300ms}]\n")
	out := filepath.Join(dir, "run")
	p := inBench(t, b, dir, between("run", "study.yaml", "--out", out)...)
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	run, _ := loaded(t, out)
	want := map[string]struct {
		status result.ModeStatus
		reason string
	}{
		"host": {result.ModeMeasured, ""}, "docker/published": {result.ModeMeasured, ""},
		"docker/bridge": {result.ModeUnsupported, "engine ssh://a"}, "vm/virtio": {result.ModeUnsupported, "in a lab on one machine"},
	}
	for _, m := range run.Modes {
		if w, known := want[m.ID]; known && (m.Status != w.status || !strings.Contains(m.Reason, w.reason)) {
			t.Errorf("%s is %s: %s", m.ID, m.Status, m.Reason)
		}
		delete(want, m.ID)
	}
	must.True(t, len(want) == 0, "not in the run: %v", want)
	alive := must.Get(lab.Alive())(t)
	if left, err := e.Leftovers(t.Context(), alive); err != nil || len(left) > 0 {
		t.Errorf("left on the engine: %v, %v", left, err)
	}
	nothingLeft(t, b)
}
