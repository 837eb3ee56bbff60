package private_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/enginetest"
	"tare/internal/testkit/must"
)

// startOnLab starts an engine on host a of its own lab. Both end with the test.
func startOnLab(t *testing.T) (*lab.Lab, *private.Engine) {
	t.Helper()
	b := enginetest.New(t)
	return b.Lab, b.Engine
}

// holder starts a container that ends with its engine.
func holder(t *testing.T, l *lab.Lab, p *private.Engine, part string, change func(*engine.ContainerSpec)) *engine.Container {
	t.Helper()
	spec := enginetest.Bench{Engine: p, Lab: l, ID: l.Spec.Claim.ID}.Spec(part)
	if change != nil {
		change(&spec)
	}
	return must.Get(p.Run(t.Context(), spec))(t)
}

// Two engines with everything that they can run leave nothing behind, and while they run they mount
// nothing on the machine.
func TestNothingLeft(t *testing.T) {
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	id := l.Spec.Claim.ID
	a, b := enginetest.Both(t, l)
	must.Do(t, private.Swarm(t.Context(), l, a, b))
	over := must.Get(a.CreateNetwork(t.Context(), engine.NetworkSpec{Run: id, Name: engine.Name(id, "over"), Driver: "overlay", Attachable: true}))(t)
	if pool := l.Pool(lab.PoolSwarm); !pool.Contains(over.Subnets[0].Addr()) {
		t.Errorf("the overlay network is in %v, want in %s", over.Subnets, pool)
	}
	holder(t, l, a, "client", func(s *engine.ContainerSpec) { s.Network = over.Name })
	holder(t, l, b, "server", func(s *engine.ContainerSpec) {
		s.Publish = []engine.Publish{{Host: netip.AddrPortFrom(l.B.Addr[0], 7000), Port: 7000}}
	})
	all := append(below(t, a.InitPID()), below(t, b.InitPID())...)
	var names []string
	for _, p := range all {
		names = append(names, p.name)
	}
	for _, want := range []string{"dockerd", "containerd", "containerd-shim", "docker-proxy"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("no %s among %v", want, names)
		}
	}
	for _, trace := range traces(t, id) {
		if strings.HasPrefix(trace, "mount") {
			t.Errorf("on the machine itself: %s", trace)
		}
	}
	began := time.Now()
	for range 2 {
		must.Equal(t, nil, private.CloseAll(a, nil, b))
	}
	t.Logf("%d processes were ended and all was removed in %v", len(all), time.Since(began))
	if left := running(all); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if left := traces(t, id); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if a.ExitReason() == "" {
		t.Error("a closed engine is reported as running")
	}
}

// An engine has its networks within the run's addresses and on its own host only.
func TestAddressesOfEngines(t *testing.T) {
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	a, b := enginetest.Both(t, l)
	for _, e := range []struct {
		p      *private.Engine
		h      *lab.Host
		bridge lab.Net
		pool   lab.Pool
	}{{a, l.A, lab.NetA, lab.PoolA}, {b, l.B, lab.NetB, lab.PoolB}} {
		dev, err := e.h.NS.Links().DeviceWith(l.Addresses(e.bridge, 1)[0].Addr())
		must.EqualFor(t, fmt.Sprintf("host %s: the default bridge's address", e.h.Name), []any{nil, "docker0"}, []any{err, dev})
		n := must.Get(e.p.CreateNetwork(t.Context(), engine.NetworkSpec{Run: l.Spec.Claim.ID, Name: engine.Name(l.Spec.Claim.ID, "net"), Driver: "bridge"}))(t)
		if pool := l.Pool(e.pool); !pool.Contains(n.Subnets[0].Addr()) || n.Subnets[0].Bits() != lab.PoolBits {
			t.Errorf("host %s: a network is in %v, want a /%d of %s", e.h.Name, n.Subnets, lab.PoolBits, pool)
		}
	}
}

// Neither this process's environment nor the user's settings reach an engine.
func TestEngineIsIsolated(t *testing.T) {
	drivertest.NeedEngine(t)
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "HTTP_PROXY", "https_proxy", "NOTIFY_SOCKET"} {
		t.Setenv(name, "unix:///nowhere")
	}
	_, p := startOnLab(t)
	dockerd := daemon(t, p.InitPID())
	env := must.Get(os.ReadFile(filepath.Join("/proc", strconv.Itoa(dockerd.pid), "environ")))(t)
	if strings.Contains(string(env), "nowhere") || !strings.Contains(string(env), "/usr/sbin") || !strings.Contains(string(env), "TMPDIR=/run") {
		t.Errorf("dockerd's environment is %q", env)
	}
	root := filepath.Join("/proc", strconv.Itoa(p.InitPID()), "root")
	for _, dir := range []string{"/run", "/etc/docker"} {
		theirs := must.Get(os.Stat(filepath.Join(root, dir)))(t)
		if ours, err := os.Stat(dir); err == nil && os.SameFile(ours, theirs) {
			t.Errorf("the engine sees the machine's %s", dir)
		}
	}
	// containerd creates a directory in /opt, which must not be the machine's.
	made, err := os.Stat(filepath.Join(root, "opt/containerd"))
	if err == nil {
		if ours, err := os.Stat("/opt/containerd"); err == nil && os.SameFile(ours, made) {
			t.Error("the engine's /opt is the machine's")
		}
	}
	limit := "/proc/sys/kernel/keys/root_maxkeys"
	if is, err := os.ReadFile(limit); err == nil {
		if err := os.WriteFile(filepath.Join(root, limit), is, 0); !errors.Is(err, syscall.EROFS) {
			t.Errorf("the engine can change %s: %v", limit, err)
		}
	}
	must.Do(t, os.WriteFile(filepath.Join(p.Plugins(), "seen"), nil, 0o600))
	must.EqualFor(t, "a plugin's socket where the engine looks", nil, must.Err(os.Stat(filepath.Join(root, "run/docker/plugins/seen"))))
}

// An engine that fails to start reports dockerd's own message and leaves nothing.
func TestStartFails(t *testing.T) {
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	_, err := private.Start(t.Context(), l, l.B, "--no-such-flag")
	must.FailFor(t, "an unknown flag", err, "host b", "unknown flag: --no-such-flag")
	_, err = private.Start(t.Context(), l, l.B, "--storage-driver=nonsense")
	must.FailLine(t, "an unknown storage driver", err, "driver not supported")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := private.StartBoth(ctx, l); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") {
		t.Errorf("cancelled: %v", err)
	}
	if left := traces(t, l.Spec.Claim.ID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// An existing engine is not affected by a second one of the same name.
func TestStartTwice(t *testing.T) {
	l, p := startOnLab(t)
	if _, err := private.Start(t.Context(), l, l.A); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second engine of the same name: %v", err)
	}
	must.EqualFor(t, "the first one", "", p.ExitReason())
}

// When dockerd exits, everything that it has started ends, and that is reported.
func TestDockerdKilled(t *testing.T) {
	l, p := startOnLab(t)
	c := holder(t, l, p, "server", nil)
	agent := must.Get(c.Launch(t.Context(), "agent", "--run", l.Spec.Claim.ID))(t)
	defer agent.Close(t.Context())
	all := below(t, p.InitPID())
	must.Do(t, syscall.Kill(daemon(t, p.InitPID()).pid, syscall.SIGKILL))
	<-p.Done()
	want := "the engine on host a ended: dockerd ended (signal: killed)"
	must.EqualFor(t, "exit reason", want, p.ExitReason())
	eventually(t, "the agent's exit reason", func() bool { return agent.ExitReason() != "" })
	must.ContainFor(t, "the agent's exit reason", agent.ExitReason(), want)
	if left := running(all); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

func TestExitReasonIn(t *testing.T) {
	const ended = "tare engine-init: dockerd ended "
	for _, tt := range []struct{ log, want string }{
		{"", ""},
		{"x\n", ""},
		{"x\n\n" + ended + "(signal: killed)\n", "dockerd ended (signal: killed)"},
		{"failed to start\n" + ended + "(exit status 1)\n", "dockerd ended (exit status 1): failed to start"},
		{"time=\"2020\" level=fatal msg=\"no \\\"x\\\" here\" a=b\n" + ended + "(exit status 1)\n", "dockerd ended (exit status 1): no \"x\" here"},
		{"Status: unknown flag: --x\nSee 'dockerd --help'., Code: 125\n" + ended + "(exit status 1)", "dockerd ended (exit status 1): unknown flag: --x"},
		{"[rootlesskit:parent] error: failed to set up\n[rootlesskit:child ] error: EOF\n" + ended + "(exit status 1)\n", "dockerd ended (exit status 1): [rootlesskit:parent] error: failed to set up"},
		{"bad flag\n[rootlesskit:child ] error: command [dockerd x] exited: exit status 1\n[rootlesskit:parent] error: child exited: exit status 1\n" + ended + "(exit status 1)\n", "dockerd ended (exit status 1): bad flag"},
		{"tare engine-init: mount x on y: no\n", "mount x on y: no"},
		{"time=1 msg=\"cut\n" + ended + "(exit status 2)", "dockerd ended (exit status 2): time=1 msg=\"cut"},
		{strings.Repeat("é", 300) + "\n" + ended + "(exit status 2)", "dockerd ended (exit status 2): " + strings.Repeat("é", 200) + "..."},
	} {
		must.EqualFor(t, tt.log, tt.want, private.ExitReasonIn(tt.log))
	}
}
