package engines_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/engine/private"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// sandboxed builds a mode with containers of a runtime of gVisor.
func sandboxed(t *testing.T, mode, lab, runtime string) *drivertest.Setup {
	t.Helper()
	needCurrent(t)
	o := drivertest.Order(t, mode, 1, nil)
	o.Engine = study.Engine{Lab: lab, Runtime: runtime}
	return drivertest.Build(t, engines.Docker{}, o)
}

// Modes are built and proven with both networks of a sandbox, and on both engines.
func TestEnginesSandboxes(t *testing.T) {
	for _, tt := range []struct{ mode, lab, runtime string }{
		{"docker/bridge", study.CurrentEngine, study.RuntimeRunsc},
		{"docker/colocated", study.PackagedEngine, study.RuntimeRunsc},
		{"docker/macvlan", study.CurrentEngine, study.RuntimeRunsc},
		{"docker/overlay", study.CurrentEngine, study.RuntimeRunsc},
		{"docker/host", study.CurrentEngine, study.RuntimeRunscHostnet},
		{"docker/published", study.PackagedEngine, study.RuntimeRunscHostnet},
	} {
		t.Run(tt.mode+" "+tt.runtime+" "+tt.lab, func(t *testing.T) {
			t.Parallel()
			s := sandboxed(t, tt.mode, tt.lab, tt.runtime)
			s.CheckTopology(t)
			for _, kind := range []string{"tcp_stream", "tcp_crr", "udp_stream", "udp_rr"} {
				client, server, err := s.Trial(t, drivertest.Params(kind), false)
				if err != nil {
					t.Errorf("%s: %v", kind, err)
				}
				// The stack of a sandbox does not count retransmissions.
				if kind == "tcp_stream" && tt.runtime == study.RuntimeRunsc && (client.Retransmits != nil || server.Retransmits != nil) {
					t.Error("retransmissions are known, which gVisor does not count")
				}
			}
			if !slices.ContainsFunc(s.Path.Rules, func(r driver.Rule) bool {
				return strings.Contains(r.Counter, "sentry.run_ns") && r.Expect == driver.ProcessBusy
			}) {
				t.Errorf("no rule requires that the sandbox works: %v", s.Path.Rules)
			}
		})
	}
}

// Traffic that the host's kernel carries in the namespace of a sandboxed container is void: its
// sockets move, and with netstack they must not.
func TestEnginesKernelSocketsAreVoid(t *testing.T) {
	t.Parallel()
	s := sandboxed(t, "docker/colocated", study.CurrentEngine, study.RuntimeRunsc)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Fatal(err)
	}
	before := s.Snapshot(t)
	a, b, err := s.Trial(t, drivertest.Params("tcp_stream"), false)
	must.Do(t, err)
	from, _ := engines.EndNamespaces(s.Path)
	// Datagrams to a closed port of the namespace's own loopback device.
	must.Do(t, run(from, "bash", "-c", "echo x > /dev/udp/127.0.0.1/9"))
	must.Fail(t, s.Proof(t, before, []driver.Carried{driver.CarriedBy(a, b)}), "client/kernel_sockets.packets")
}

// A runtime called runsc that is not gVisor's is refused, and so is a sandbox that may not be created.
func TestEnginesWrongSandbox(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	current, err := private.Find(study.CurrentEngine)
	must.Do(t, err)
	dir := programs(t, nil)
	must.Do(t, os.Symlink(filepath.Join(current.Dir, "runc"), filepath.Join(dir, "runsc")))
	err = buildError(t, "docker/colocated", study.Engine{Lab: dir, Runtime: study.RuntimeRunsc})
	must.Contain(t, err.Error(), "was to run in a sandbox of gVisor, but its process")
	dir = programs(t, nil)
	script := "#!/bin/sh\nexec setpriv --bounding-set=-sys_admin,-sys_ptrace --inh-caps=-sys_admin,-sys_ptrace " + filepath.Join(current.Dir, "runsc") + " \"$@\"\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "runsc"), []byte(script), 0o755))
	err = buildError(t, "docker/colocated", study.Engine{Lab: dir, Runtime: study.RuntimeRunsc})
	must.Contain(t, err.Error(), "gVisor could not start a sandbox", "--platform=systrap")
}

// What cannot be measured in a sandbox is unsupported, with the reason.
func TestEnginesSandboxUnsupported(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	for _, tt := range []struct {
		mode string
		with map[string]string
		want string
	}{
		{"docker/host", nil, "use runtime: runsc-hostnet"},
		{"docker/colocated", map[string]string{"seccomp": "off"}, "in a sandbox"},
		{"docker/isolated", map[string]string{"resolver_rules": "off"}, "own network stack"},
	} {
		o := drivertest.Order(t, tt.mode, 1, nil)
		o.Engine, o.With = study.Engine{Lab: study.CurrentEngine, Runtime: study.RuntimeRunsc}, tt.with
		_, err := engines.Docker{}.Provision(t.Context(), o)
		if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, tt.want) {
			t.Errorf("%s with %v: %v", tt.mode, tt.with, err)
		}
	}
}

// The processes of a sandbox end with its engine, also if nothing stops it in order.
func TestEnginesSandboxEnds(t *testing.T) {
	t.Parallel()
	s := sandboxed(t, "docker/colocated", study.CurrentEngine, study.RuntimeRunsc)
	from, _ := engines.EndNamespaces(s.Path)
	pids, err := from.Sockets().Processes()
	if err != nil || len(pids) == 0 {
		t.Fatalf("the sandbox has no process in its namespace: %v", err)
	}
	for _, root := range s.Path.Processes() {
		p, err := os.FindProcess(root)
		if err == nil {
			err = p.Kill()
		}
		must.Do(t, err)
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
			_, err := linuxnet.CPUTime(pid)
			return err != nil
		})
		if len(left) == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("processes %v of the sandbox are still there", left)
		}
	}
	must.Do(t, s.Path.Close(context.Background()))
}
