package engine_test

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/program/agentfile"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/enginetest"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// bench is an engine with what only these tests need.
type bench struct{ enginetest.Bench }

func newBench(t *testing.T) bench {
	t.Helper()
	return bench{enginetest.New(t)}
}

// pidOf finds the process on this machine whose command line has an argument.
func pidOf(t *testing.T, argument string) int {
	t.Helper()
	found := pidsOf(t, argument)
	must.Require(t, len(found) == 1, "%d processes have the argument %s", len(found), argument)
	return found[0]
}

func pidsOf(t *testing.T, argument string) (found []int) {
	t.Helper()
	dirs := must.Get(filepath.Glob("/proc/[0-9]*"))(t)
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.HasPrefix(string(line), "/tare\x00agent\x00") || !strings.Contains(string(line)+"\x00", "\x00"+argument+"\x00") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		found = append(found, pid)
	}
	return found
}

// A container has its address, its namespace and its limits. Its agent exits when its stdin ends,
// and can be restarted in the same place.
func TestRun(t *testing.T) {
	b := newBench(t)
	if v := b.Versions; v.Engine == "" || v.API < "1.40" || v.Containerd == "" || v.Runc == "" || v.Kernel == "" || v.OS != "linux" {
		t.Errorf("the engine reports %+v about itself", v)
	}
	began := time.Now()
	must.Get(b.Image(t.Context(), b.ID))(t)
	t.Logf("image in %v", time.Since(began))

	began = time.Now()
	spec := b.Spec("server")
	spec.Limit = study.Limit{CPUs: 0.5, Memory: 64 << 20}
	spec.Sysctls = map[string]string{"net.ipv4.tcp_no_metrics_save": "1"}
	c := b.Container(t, spec)
	a := b.Agent(t, c, "one/server")
	t.Logf("create, start and handshake in %v", time.Since(began))
	must.True(t, c.Limit == spec.Limit, "limited to %+v, want %+v", c.Limit, spec.Limit)
	ns := must.Get(c.Namespace())(t)
	defer ns.Close()
	mac := must.Get(ns.Links().HardwareAddr("eth0"))(t)
	bridge := b.Lab.Addresses(lab.NetA, 1)[0]
	if len(c.Endpoints) != 1 || c.Endpoints[0].MAC != mac.String() || len(c.Addresses()) != 1 || !bridge.Contains(c.Addresses()[0]) || c.Endpoints[0].Gateway != bridge.Addr() {
		t.Errorf("the device has %v, the bridge %v, the engine reports %+v", mac, bridge, c.Endpoints)
	}
	must.EqualFor(t, "the container's sysctl is", "1", must.Get(ns.ReadSysctl("net/ipv4/tcp_no_metrics_save"))(must.Named(t, "the container's sysctl is")))

	began = time.Now()
	must.Do(t, a.Close())
	t.Logf("agent ended in %v", time.Since(began))
	if left := pidsOf(t, "one/server"); len(left) > 0 {
		t.Errorf("agents %v still run", left)
	}
	b.Agent(t, c, "two/server")
	if again, err := ns.Links().HardwareAddr("eth0"); err != nil || again.String() != mac.String() {
		t.Errorf("the device has %v, had %v: %v", again, mac, err)
	}
	if s, err := c.State(t.Context()); err != nil || !s.Running || s.PID != c.PID() {
		t.Errorf("%+v, %v", s, err)
	}
	began = time.Now()
	must.Do(t, c.Remove(t.Context()))
	t.Logf("removed in %v", time.Since(began))
	if _, err := c.State(t.Context()); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a removed container: %v", err)
	}
	if _, err := c.Launch(t.Context(), "agent"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("launch in a removed container: %v", err)
	}
	if ns, err := c.Namespace(); err == nil {
		ns.Close()
		t.Error("a removed container has a namespace")
	}
}

// A published port carries TCP and UDP from the other host.
func TestPublish(t *testing.T) {
	b := newBench(t)
	const port = 5201
	at := netip.AddrPortFrom(b.Lab.A.Addr[0], 15201)
	spec := b.Spec("server")
	spec.Publish = []engine.Publish{{Host: at, Port: port}}
	server := b.Agent(t, b.Container(t, spec), "a/server")
	client := b.Agent(t, transport.Local{Start: b.Lab.B.NS.Start}, "b/client")
	for _, kind := range []string{"tcp_rr", "udp_rr"} {
		p := drivertest.Params(kind)
		p.Address = fmt.Sprintf("0.0.0.0:%d", port)
		q := p
		q.Address = at.String()
		sent, got, err := must.Get(agent.Begin(t.Context(), client, server, q, p))(t).Run(t.Context())
		must.True(t, err == nil && sent.Received != 0 && got.Received != 0, "%s: client %d bytes, server %d bytes: %v", kind, sent.Received, got.Received, err)
	}

	second := b.Spec("second")
	second.Publish = spec.Publish
	if _, err := b.Run(t.Context(), second); !errors.Is(err, engine.ErrPortTaken) {
		t.Errorf("a port that is published: %v", err)
	}
	second.Publish = []engine.Publish{{Port: port}}
	must.Fail(t, must.Err(b.Run(t.Context(), second)), "both ports")
	must.EqualFor(t, "the server and its image", 2, len(must.Get(b.Leftovers(t.Context(), nil))(must.Named(t, "want the server and its image, have"))))
}

// On the host's network there is no namespace but the host's.
func TestHostNetwork(t *testing.T) {
	b := newBench(t)
	spec := b.Spec("server")
	spec.Network = engine.HostNetwork
	c := b.Container(t, spec)
	b.Agent(t, c, "a/server")
	ns := must.Get(c.Namespace())(t)
	defer ns.Close()
	got, err := ns.Links().HardwareAddr(lab.Underlay)
	want, errHost := b.Lab.A.NS.Links().HardwareAddr(lab.Underlay)
	if err := errors.Join(err, errHost); err != nil || got.String() != want.String() {
		t.Errorf("the container's underlay is %v, the host's %v: %v", got, want, err)
	}
	if len(c.Addresses()) != 0 {
		t.Errorf("it has addresses of its own: %v", c.Addresses())
	}
}

// A container runs the agent's program, if tare has one, and else the whole program.
func TestContainerRunsTheAgent(t *testing.T) {
	path, err := agentfile.Path()
	if err != nil {
		path = "/proc/self/exe"
	}
	want := must.Get(os.Stat(path))(t)
	b := newBench(t)
	c := b.Container(t, b.Spec("small"))
	b.Agent(t, c, "runs/small")
	for what, pid := range map[string]int{"the first process": hostPID(t, c), "the agent": pidOf(t, "runs/small")} {
		if got, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || got.Size() != want.Size() {
			t.Errorf("%s has a program of %v, want %d bytes (%v)", what, got, want.Size(), err)
		}
	}
}

// The exit of an agent is reported with its cause.
func TestEnginesExitReasons(t *testing.T) {
	b := newBench(t)
	b.Binary = "/proc/self/exe" // which can use too much memory
	wait := func(t *testing.T, c *agent.Client) string {
		t.Helper()
		deadline := time.Now().Add(20 * time.Second)
		for c.Err() == nil {
			must.Require(t, !time.Now().After(deadline), "the agent does not exit")
			time.Sleep(10 * time.Millisecond)
		}
		return c.Err().Error()
	}
	limited := b.Spec("limited")
	limited.Limit.Memory = 64 << 20
	c := b.Container(t, limited)

	t.Run("killed", func(t *testing.T) {
		a := b.Agent(t, c, "killed/limited")
		kill(t, pidOf(t, "killed/limited"))
		must.Contain(t, wait(t, a), "killed by a signal")
	})
	t.Run("last words", func(t *testing.T) {
		conn := must.Get(c.Launch(t.Context(), agent.KillAgentArguments("")...))(t)
		if text, err := io.ReadAll(conn); err != nil || len(text) > 0 {
			t.Errorf("%q, %v", text, err)
		}
		must.Do(t, conn.Close(t.Context()))
		if got := conn.ExitReason(); !strings.HasPrefix(got, "exit status 1: ") || !strings.Contains(got, "matches no process") {
			t.Error(got)
		}
	})
	t.Run("out of memory", func(t *testing.T) {
		for range 2 {
			conn := must.Get(c.Launch(t.Context(), memoryHog))(t)
			if _, err := io.ReadAll(conn); err != nil {
				t.Error(err)
			}
			if err := conn.Close(t.Context()); err != nil {
				t.Error(err)
			}
			must.Equal(t, "killed: out of memory (limit 64MiB)", conn.ExitReason())
		}
		// The container continues, and the exit of one agent is not reported for the next.
		a := b.Agent(t, c, "after/limited")
		kill(t, pidOf(t, "after/limited"))
		must.Contain(t, wait(t, a), "killed by a signal")
	})
	t.Run("stuck", func(t *testing.T) {
		a := b.Agent(t, c, "stuck/limited")
		t.Setenv(timelimit.Variable, "1") // its whole limit is waited for
		drivertest.Stop(t, pidOf(t, "stuck/limited"))
		must.Do(t, a.Close())
		if left := pidsOf(t, "stuck/limited"); len(left) > 0 {
			t.Errorf("agents %v still run", left)
		}
	})
	t.Run("container killed", func(t *testing.T) {
		a := b.Agent(t, c, "in-killed/limited")
		kill(t, hostPID(t, c))
		must.Contain(t, wait(t, a), "its container was killed")
	})
	t.Run("container removed", func(t *testing.T) {
		c := b.Container(t, b.Spec("removed"))
		a := b.Agent(t, c, "in-removed/removed")
		must.Do(t, c.Remove(t.Context()))
		if got := wait(t, a); !strings.Contains(got, "its container was removed") && !strings.Contains(got, "its container was killed") {
			t.Error(got)
		}
	})
	t.Run("engine ended", func(t *testing.T) {
		c := b.Container(t, b.Spec("last"))
		a := b.Agent(t, c, "in-ended/last")
		kill(t, b.dockerd(t))
		must.Contain(t, wait(t, a), "the engine on host a ended")
	})
}
