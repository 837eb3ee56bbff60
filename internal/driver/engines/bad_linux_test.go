package engines_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// kill kills the processes of a namespace with that name.
func kill(t *testing.T, ns *linuxnet.NS, name string) {
	t.Helper()
	pids := must.Get(ns.Sockets().Processes())(t)
	found := false
	for _, pid := range pids {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err != nil {
			continue
		}
		args := strings.Split(string(line), "\x00")
		if filepath.Base(args[0]) == name || len(args) > 1 && args[1] == name {
			found = unix.Kill(pid, unix.SIGKILL) == nil || found
		}
	}
	if !found {
		t.Fatalf("no process %s in %s", name, ns.Name())
	}
}

// If an engine ends during a path's lifetime, the path's errors and its agents' errors say
// so. The path can still be closed.
func TestEngineKilled(t *testing.T) {
	drivertest.NeedEngine(t)
	s := drivertest.Provision(t, engines.Docker{}, "docker/bridge", nil)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false); err != nil {
		t.Fatal(err)
	}
	kill(t, s.Lab.B.NS, "dockerd")
	<-engines.Staged(s.Path).B.Done()
	_, err := s.Path.Snapshot(t.Context())
	must.Fail(t, err, "the engine on host b ended: dockerd ended (signal: killed)")
	must.Fail(t, must.Err(s.Path.Pairs[0].Server.Launcher.Launch(t.Context(), "agent")), "engine b")
}

// If a container is killed, the path's errors say so.
func TestContainerKilled(t *testing.T) {
	drivertest.NeedEngine(t)
	s := drivertest.Provision(t, engines.Docker{}, "docker/colocated", nil)
	_, server, at := engines.Ends(s.Path)
	kill(t, at[1], "hold")
	gone := func() bool {
		state, err := server.State(t.Context())
		return err != nil || !state.Running
	}
	for !gone() { // the engine notices it on its own
		if t.Context().Err() != nil {
			t.Fatal("the engine never heard of its container's end")
		}
	}
	_, err := s.Path.Snapshot(t.Context())
	must.Fail(t, err, "the container of a/server has ended: exit code 137")
}

// A failed setup leaves nothing: no engine, namespace, cgroup or directory.
func TestProvisionCutShort(t *testing.T) {
	drivertest.NeedEngine(t)
	given := func(cause string, prepare func(engines.Stage) error) labdriver.Driver {
		return engines.Prepared(func(_ context.Context, s engines.Stage) error {
			if prepare == nil {
				return errors.New(cause)
			}
			return prepare(s)
		})
	}
	var taken net.Listener
	for _, tt := range []struct {
		name string
		d    labdriver.Driver
		mode string
		want string
	}{
		{"after the engines", given("no luck", nil), "docker/bridge", "no luck"},
		{"port taken", given("", func(s engines.Stage) error {
			return s.Lab.B.NS.Do(func() (err error) {
				taken, err = net.Listen("tcp", ":5201")
				return err
			})
		}), "docker/published", "5201"},
		{"no address translation", given("", func(s engines.Stage) error {
			// Remove whatever the engine writes into the table.
			return errors.Join(run(s.Lab.B.NS, "iptables", "-t", "nat", "-F"), run(s.Lab.B.NS, "iptables", "-t", "nat", "-X"))
		}), "docker/published", "iptables"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := drivertest.Spec(t, nil)
			_, err := tt.d.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: tt.mode, Pairs: 1}))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, tt.want)
			}
			nothingLeft(t, spec.Claim.ID)
		})
	}
	if taken != nil {
		taken.Close()
	}
}

// nothingLeft checks that a run has left nothing on this machine.
func nothingLeft(t *testing.T, run string) {
	t.Helper()
	names, err := linuxnet.Pinned(lab.Prefix + run)
	if err != nil || len(names) > 0 {
		t.Errorf("namespaces are left: %v, %v", names, err)
	}
	for _, pattern := range []string{"/var/lib/tare/engines/" + run + "*", "/sys/fs/cgroup/*/tare-" + run + "*", "/sys/fs/cgroup/tare-" + run + "*"} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
}

// A cancelled run ends as such: it says nothing about what the engine lacks.
func TestCancelledIsNotUnsupported(t *testing.T) {
	t.Parallel()
	drivertest.NeedEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := engines.Docker{}.Provision(ctx, drivertest.Order(t, "docker/bridge", 1, nil))
	if u, is := driver.AsUnsupported(err); is || !errors.Is(err, context.Canceled) {
		t.Errorf("unsupported %v, error %v", u, err)
	}
}
