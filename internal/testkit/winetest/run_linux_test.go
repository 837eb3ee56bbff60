package winetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/agent/transport"
	"tare/internal/cli"
	"tare/internal/hosts"
	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/testkit/winetest"
)

// everyWorkload has all workloads but those that consist of others' trials. A trial must carry 32 KiB
// to prove its path. Slices are long, so that what a busy machine does to their beginnings repeats none.
const everyWorkload = `blocks: 2
pilot: 0s
settle: 10ms
modes: [host]
invalid: {steal: off, others: off, unsettled: off}
workloads:
- {workload: tcp_rr, warmup: 50ms, duration: 300ms, slice: 300ms, request_size: 16KiB, response_size: 16KiB}
- {workload: tcp_crr, warmup: 50ms, duration: 300ms, slice: 300ms, request_size: 16KiB, response_size: 16KiB}
- {workload: tcp_dns, warmup: 50ms, duration: 1500ms, slice: 250ms}
- {workload: tcp_stream, warmup: 50ms, duration: 300ms, slice: 300ms, direction: reverse}
- {workload: udp_stream, warmup: 50ms, duration: 300ms, rate: 10Mbit/s}
- {workload: udp_rr, warmup: 50ms, duration: 1s, slice: 250ms, family: ipv6, request_size: 1400, response_size: 1400}
- {workload: udp_dns, warmup: 50ms, duration: 1500ms, slice: 250ms}
- {workload: http, tls: on, warmup: 50ms, duration: 600ms, slice: 300ms, response_size: 16KiB}
- {workload: http2, tls: on, warmup: 50ms, duration: 600ms, slice: 300ms, response_size: 16KiB}
- {workload: grpc, tls: on, warmup: 50ms, duration: 600ms, slice: 300ms, response_size: 16KiB}
`

// A run between a Windows machine, the client, and one with Linux carries every workload, with proof
// by the devices of both, and the Windows machine's CPU time. The machines are connected by a veth
// pair, and programs are started there directly instead of through ssh.
func TestRun(t *testing.T) {
	winetest.Need(t)
	windows, linux := namespace(t, "windows"), namespace(t, "linux")
	must.Do(t, windows.Links().Veth(linuxnet.Device{Name: "eth0"}, linux, linuxnet.Device{Name: "eth0"}))
	for i, ns := range []*linuxnet.NS{windows, linux} {
		v4, v6 := netip.AddrFrom4([4]byte{198, 18, 77, byte(i + 1)}), netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 3: 0x02, 6: 77, 15: byte(i + 1)})
		must.Do(t, errors.Join(ns.Routes().Address("eth0", netip.PrefixFrom(v4, 24)), ns.Routes().Address("eth0", netip.PrefixFrom(v6, 64)), ns.Links().Up("eth0"), ns.Links().Up("lo")))
	}
	wine := winetest.New(t, windows.Start).Launcher(winetest.Program(t))
	connect := func(_ context.Context, _, name string, at machine.Address) (*machine.Machine, error) {
		m := &machine.Machine{Name: name, Address: at, System: machine.System{OS: "linux", Arch: "amd64"}, User: transport.Local{Start: linux.Start}, NoRoot: "the test has no root there"}
		if at.Host == "windows" {
			m.System.OS, m.User = "windows", wine
		}
		return m, nil
	}
	dir := t.TempDir()
	file, out := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "run")
	must.Do(t, os.WriteFile(file, []byte(everyWorkload), 0o600))
	var stdout, stderr bytes.Buffer
	app := cli.New(result.Build{Version: "test"})
	app.Kinds = []hosts.Kind{hosts.MachinesKind(connect)}
	app.Stdout, app.Stderr = &stdout, &stderr
	if code := app.Main(t.Context(), []string{"run", file, "--host", "ssh://windows", "--host", "ssh://linux", "--out", out}); code != 0 {
		t.Fatalf("tare run ends with %d: %s%s", code, stdout.String(), stderr.String())
	}
	stored := must.Get(store.Open(out))(t)
	defer stored.Close()
	run, trials := must.Get2(stored.Load())(t)
	for _, m := range run.Modes {
		if m.Status != result.ModeMeasured || m.Proof == nil || !m.Proof.Holds {
			t.Errorf("%s is %s: %s, proof %+v", m.ID, m.Status, m.Reason, m.Proof)
		}
	}
	// What a busy machine has done to a trial is repeated, in longer slices: the last one of a block counts.
	last := map[string]result.Trial{}
	for _, trial := range trials {
		last[fmt.Sprint(trial.Workload, trial.Block, trial.Mode)] = trial
	}
	carried := map[string]bool{}
	for _, trial := range last {
		if trial.Status != result.TrialOK {
			t.Errorf("%s in block %d is %s: %s", trial.Workload, trial.Block, trial.Status, trial.Reason)
			continue
		}
		carried[trial.Workload] = true
		if trial.Machine["client_cpu_time"] <= 0 || trial.Machine["client_cpu_busy"] <= 0 || trial.Machine["server_cpu_busy"] <= 0 {
			t.Errorf("%s: no CPU time: %v", trial.Workload, trial.Machine)
		}
	}
	if len(carried) != 10 {
		t.Errorf("trials of %v succeeded: %+v\n%s", carried, run.Trials, stderr.String())
	}
}
