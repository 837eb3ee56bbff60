package private_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/engine/private"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/enginetest"
	"tare/internal/testkit/must"
)

// restartable starts an engine that can be restarted, on host a of its own lab. Both end with the test.
func restartable(t *testing.T) enginetest.Bench {
	t.Helper()
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	p := must.Get(private.Config{Installation: private.Packaged(), LiveRestore: true}.Start(t.Context(), l, l.A))(t)
	t.Cleanup(func() { must.Equal(t, nil, p.Close()) })
	return enginetest.Bench{Engine: p, Lab: l, ID: l.Spec.Claim.ID}
}

// confinement is what confines the agent in a place, as the kernel reports it: namespaces, control groups, capabilities, filters of system calls.
func confinement(t *testing.T, pid string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, space := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		out[space] = must.Get(os.Readlink(filepath.Join("/proc", pid, "ns", space)))(t)
	}
	for _, file := range []string{"cgroup", "limits", "oom_score_adj", "attr/current"} {
		text, _ := os.ReadFile(filepath.Join("/proc", pid, file)) // of attr/current without a security module
		out[file] = string(text)
	}
	status := string(must.Get(os.ReadFile(filepath.Join("/proc", pid, "status")))(t))
	for _, line := range regexp.MustCompile(`(?m)^(Uid|Gid|Groups|Cap\w+|NoNewPrivs|Seccomp\w*):.*$`).FindAllString(status, -1) {
		name, value, _ := strings.Cut(line, ":")
		out[name] = strings.TrimSpace(value)
	}
	return out
}

// dockerd is restarted: the container, its first process and an agent that runc started alone live on, an agent of docker exec does not, and each is
// confined as the other. Containers can be started again, and nothing is left at the end.
func TestRestart(t *testing.T) {
	b := restartable(t)
	c := b.Container(t, b.Spec("server"))
	direct := private.Direct{Engine: b.Engine, Container: c}
	beside := b.Agent(t, direct, "a/direct")
	of := must.Get(agent.Start(t.Context(), c, b.ID, "a/exec"))(t)
	must.Equal(t, confinement(t, agentOf(t, "a/exec")), confinement(t, agentOf(t, "a/direct")))
	if moved, _, err := b.ShareCPU(c); err != nil || moved != 2 {
		t.Errorf("moved %d agents, not both: %v", moved, err)
	}
	state, old := must.Get(c.State(t.Context()))(t), must.Get(b.DaemonPID())(t)
	must.Equal(t, daemon(t, b.InitPID()).pid, old)

	must.Do(t, b.Restart())
	must.Do(t, b.AwaitRestart(t.Context(), old))
	pid := must.Get(b.DaemonPID())(t)
	must.True(t, pid != old, "dockerd is process %d as before", pid)
	must.Equal(t, state, must.Get(c.State(t.Context()))(t))
	must.Equal(t, nil, beside.Err())
	eventually(t, "the end of the agent of docker exec", func() bool { return of.Err() != nil })
	must.Do(t, of.Close())
	must.EqualFor(t, "the engine", "", b.ExitReason())
	b.Agent(t, b.Container(t, b.Spec("another")), "a/another")
	b.Agent(t, direct, "a/direct again")
	all := below(t, b.InitPID())
	must.Do(t, b.Close())
	if left := running(all); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if left := traces(t, b.ID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// An agent that runc started alone ends with its stdin, is killed if it does not, and says how it ended if it was killed.
func TestDirectAgentEnds(t *testing.T) {
	b := restartable(t)
	c := b.Container(t, b.Spec("server"))
	direct := private.Direct{Engine: b.Engine, Container: c}
	a := must.Get(agent.Start(t.Context(), direct, b.ID, "a/stopped"))(t)
	pid := must.Get(strconv.Atoi(agentOf(t, "a/stopped")))(t)
	must.Do(t, syscall.Kill(pid, syscall.SIGSTOP)) // it does not see that its stdin is closed
	must.Do(t, a.Close())
	must.Equal(t, syscall.ESRCH, syscall.Kill(pid, 0))

	conn := must.Get(direct.Launch(t.Context(), agent.Arguments(b.ID, "a/killed")...))(t)
	must.Equal(t, "", conn.ExitReason())
	pid = 0
	eventually(t, "the agent", func() bool {
		all := must.Get(b.Processes(c))(t)
		if i := slices.IndexFunc(all, func(p int) bool { return p != 0 && strings.Contains(cmdline(p), "a/killed") }); i >= 0 {
			pid = all[i]
		}
		return pid != 0
	})
	must.Do(t, syscall.Kill(pid, syscall.SIGKILL))
	eventually(t, "the exit reason", func() bool { return conn.ExitReason() != "" })
	must.Equal(t, "killed by a signal", conn.ExitReason())
	must.Do(t, conn.Close(t.Context()))
	must.Do(t, c.Remove(t.Context()))
	_, err := agent.Start(t.Context(), direct, b.ID, "a/gone")
	must.Fail(t, err, "start agent in a/gone", "its container was removed")
}

// A process that runc started alone and that ran out of memory says so, at once and each time, and what was killed after it does not.
func TestDirectOutOfMemory(t *testing.T) {
	b := restartable(t)
	b.Binary = "/proc/self/exe" // which can use too much memory
	spec := b.Spec("server")
	spec.Limit.Memory = 64 << 20
	direct := private.Direct{Engine: b.Engine, Container: b.Container(t, spec)}
	for range 2 {
		conn := must.Get(direct.Launch(t.Context(), memoryHog))(t)
		eventually(t, "the end for lack of memory", func() bool { return conn.ExitReason() != "" })
		must.Equal(t, "killed: out of memory (limit 64MiB)", conn.ExitReason())
		must.Do(t, conn.Close(t.Context()))
	}
	a := must.Get(agent.Start(t.Context(), direct, b.ID, "a/after"))(t)
	must.Do(t, syscall.Kill(must.Get(strconv.Atoi(agentOf(t, "a/after")))(t), syscall.SIGKILL))
	eventually(t, "the end of the agent", func() bool { return a.Err() != nil })
	must.Fail(t, a.Err(), "killed by a signal")
	must.Do(t, a.Close())
}

func cmdline(pid int) string {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")) // of one that has ended
	return string(text)
}

// An engine that cannot be restarted is not; one that does not come back says why, one that takes too long does, and comes back nevertheless.
func TestRestartFails(t *testing.T) {
	plain := enginetest.New(t)
	must.FailLine(t, "without --live-restore", plain.Restart(), "restart the engine on host a: it was not started to be restarted")
	must.EqualFor(t, "it runs", "", plain.ExitReason())

	b := restartable(t)
	old := must.Get(b.DaemonPID())(t)
	must.Do(t, syscall.Kill(old, syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	must.Do(t, b.Restart())
	must.FailLine(t, "a dockerd that does not end", b.AwaitRestart(ctx, old), "wait for the restarted engine on host a: context deadline exceeded")
	must.Do(t, syscall.Kill(old, syscall.SIGCONT))
	must.Do(t, b.AwaitRestart(t.Context(), old))

	// A configuration that the new dockerd does not understand.
	must.Do(t, os.WriteFile(filepath.Join(b.Dir(), "daemon.json"), []byte("nonsense"), 0o600))
	old = must.Get(b.DaemonPID())(t)
	must.Do(t, b.Restart())
	must.FailLine(t, "a dockerd that does not start", b.AwaitRestart(t.Context(), old), "wait for the restarted engine on host a: the engine on host a ended: dockerd ended (exit status 1)")
	must.Do(t, b.Close())
}
