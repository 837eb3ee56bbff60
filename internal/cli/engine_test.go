//go:build linux

package cli_test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// What doctor finds of engines in the programs of this machine.
func TestEnginesDoctor(t *testing.T) {
	needRoot(t)
	drivertest.NeedEngine(t)
	p := start(t, t.TempDir(), "doctor")
	p.ends(t, 0)
	for _, mode := range []string{"netns/bridge", "docker/bridge", "docker/published"} {
		must.True(t, regexp.MustCompile(`(?m)^  `+mode+` +ok`).MatchString(p.stdout.String()), "%s cannot be built:\n%s", mode, p.stdout.String())
	}
}

// A run on two engines that exist, here those of a lab, and one on a single one:
// all modes measured, the engines told, and nothing left on them.
func TestEnginesExisting(t *testing.T) {
	needRoot(t)
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	a, b := must.Get2(private.StartBoth(t.Context(), l))(t)
	t.Cleanup(func() { must.Do(t, private.CloseAll(a, b)) })
	first, second := "unix://"+a.Socket(), "unix://"+b.Socket()
	for _, tt := range []struct {
		name, study string
		args, modes []string
		baseline    string
	}{
		{"one", "blocks: 2\nsettle: 10ms\nmodes: [docker/colocated]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\nworkloads: [{workload: tcp_rr, request_size: 32KiB, response_size: 32KiB, duration: 500ms}]\n",
			[]string{"--engine", first}, []string{"host-local", "docker/colocated"}, "host-local"},
		{"two", fmt.Sprintf("blocks: 2\nsettle: 10ms\nhosts:\n  - {name: left, engine: %q, address: %s}\n  - {engine: %q, address: %s}\n"+
			"modes: [{mode: docker/published, id: mine, limits: {server: {cpus: 1}}}]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\nworkloads: [{workload: tcp_rr, request_size: 32KiB, response_size: 32KiB, duration: 500ms}]\n", first, l.A.Addr[0], second, l.B.Addr[0]),
			nil, []string{"host", "mine"}, "host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := studyIn(t, tt.study)
			out := filepath.Join(dir, "run")
			p := start(t, dir, append([]string{"run", "study.yaml", "--out", out}, tt.args...)...)
			p.ends(t, 0)
			run, trials := loaded(t, out)
			noneFailed(t, trials)
			var modes []string
			for _, m := range run.Modes {
				modes = append(modes, m.ID)
				if m.Status != result.ModeMeasured || m.ID != tt.baseline && (m.Baseline != tt.baseline || len(m.Facts) == 0) {
					t.Errorf("%+v", m)
				}
			}
			if strings.Join(modes, " ") != strings.Join(tt.modes, " ") || run.Trials.OK != 4 {
				t.Errorf("modes %q, want %q; trials %+v\n%s", modes, tt.modes, run.Trials, p.stderr.String())
			}
			must.True(t, strings.Join(modes, " ") == strings.Join(tt.modes, " ") && run.Trials.OK == 4,
				"modes %q, want %q; trials %+v\n%s", modes, tt.modes, run.Trials, p.stderr.String())
			if f := run.Hosts[0].Facts; len(f) == 0 || f[0].Value != first {
				t.Errorf("hosts %+v", run.Hosts)
			}
			alive := must.Get(lab.Alive())(t)
			for _, e := range []*private.Engine{a, b} {
				left, err := e.Leftovers(t.Context(), alive)
				must.True(t, err == nil && len(left) == 0, "left on the engine: %v, %v", left, err)
			}
			// The run says where it was, so that it can go on there.
			p = start(t, dir, "run", "--resume", out)
			p.ends(t, 0)
		})
	}
	t.Run("no network", func(t *testing.T) {
		for _, args := range [][]string{{"plan"}, {"run", "--out", filepath.Join(t.TempDir(), "run")}} {
			p := start(t, t.TempDir(), append(args, "--engine", first, "--modes", "docker/network:shop")...)
			p.ends(t, 2)
			must.Contain(t, p.stderr.String(), "mode docker/network:shop: unknown network \"shop\" of the engine of host a; allowed: ")
			must.True(t, p.stdout.Len() <= 0, "%s printed %s", args[0], p.stdout.String())
		}
	})
	t.Run("afar", func(t *testing.T) { afar(t, a) })
}

// afar measures on an engine that is spoken to as if it were on another machine: what its
// machine was short of is then read by the agents, and nothing is said of this one.
func afar(t *testing.T, e *private.Engine) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", e.Socket())
			if err != nil {
				from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); _ = to.(*net.UnixConn).CloseWrite() }()
			go func() { _, _ = io.Copy(from, to); _ = from.(*net.TCPConn).CloseWrite() }()
		}
	}()
	dir := studyIn(t, "blocks: 2\npilot: 0s\nsettle: 10ms\nmodes: [docker/colocated]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\nworkloads: [{workload: tcp_rr, duration: 300ms, slice: 1s}]\n")
	out := filepath.Join(dir, "run")
	p := start(t, dir, "run", "study.yaml", "--out", out, "--engine", "tcp://"+l.Addr().String())
	p.ends(t, 0)
	_, trials, err := must.Get(store.Open(out))(t).Load()
	must.Require(t, err == nil && len(trials) != 0, "%d trials, %v", len(trials), err)
	noneFailed(t, trials)
	for _, tr := range trials {
		must.True(t, tr.Status == result.TrialFailed || tr.Machine["memory_available"] > 0 && tr.Machine["pressure_elapsed"] > 0,
			"%s %s: nothing is known of the memory of its ends' machine: %v", tr.Mode, tr.Workload, tr.Machine)
	}
}
