//go:build linux

package docker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/driver/docker"
	"tare/internal/driver/drivertest"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// kill ends the processes of a namespace with that name.
func kill(t *testing.T, ns *linuxnet.NS, name string) {
	t.Helper()
	pids, err := ns.Processes()
	if err != nil {
		t.Fatal(err)
	}
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

// An engine that ends under a path is what the path's errors speak of, and so are
// its agents' ends. The path can be closed all the same.
func TestEngineKilled(t *testing.T) {
	needEngine(t)
	s := drivertest.Provision(t, docker.Driver{}, "docker/bridge", nil)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false); err != nil {
		t.Fatal(err)
	}
	_, b := docker.Engines(s.Path)
	kill(t, s.Lab.B.NS, "dockerd")
	<-b.Done()
	_, err := s.Path.Snapshot(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the engine on host b has ended") {
		t.Errorf("reading counters: %v", err)
	}
	if _, err := s.Path.Pairs()[0].Server.Launcher.Launch(t.Context(), "agent"); err == nil || !strings.Contains(err.Error(), "engine b") {
		t.Errorf("starting an agent again: %v", err)
	}
}

// A container that is killed is what the path's errors speak of.
func TestContainerKilled(t *testing.T) {
	needEngine(t)
	s := drivertest.Provision(t, docker.Driver{}, "docker/colocated", nil)
	_, server := docker.EndNamespaces(s.Path)
	kill(t, server, "hold")
	gone := func() bool {
		state, err := docker.Container(s.Path, "server").State(t.Context())
		return err != nil || !state.Running
	}
	for !gone() { // the engine hears of it by itself
		if t.Context().Err() != nil {
			t.Fatal("the engine never heard of its container's end")
		}
	}
	_, err := s.Path.Snapshot(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the container of a/server has ended: exit code 137") {
		t.Errorf("reading counters: %v", err)
	}
}

// What fails half way leaves nothing: no engine, namespace or directory.
func TestProvisionCutShort(t *testing.T) {
	needEngine(t)
	cut := errors.New("cut short")
	for _, tt := range []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
	}{
		{"before the engines", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(cut)
			return ctx, func() {}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := tt.ctx(t.Context())
			defer cancel()
			spec := drivertest.Spec(t, nil)
			if _, err := (docker.Driver{}).Provision(ctx, driver.Order{Mode: "docker/bridge", Pairs: 1, Lab: spec}); err == nil {
				t.Fatal("it was built all the same")
			}
			nothingLeft(t, spec.Claim.ID)
		})
	}
}

// nothingLeft looks for what a run could have left on this machine.
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
