package agent_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// firstProcess starts the first process of a container with a directory for orders. It ends with the test.
func firstProcess(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	hold := exec.Command("/proc/self/exe", agent.StandbyArguments("00000000", "server", dir)...) //nolint:noctx // it is ended in order
	must.Do(t, hold.Start())
	t.Cleanup(func() {
		must.Do(t, hold.Process.Signal(syscall.SIGTERM))
		must.Do(t, hold.Wait())
	})
	return hold
}

// children are the process ids of the children of a process.
func children(t *testing.T, pid int) string {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children")))(t)
	var all []string
	for _, f := range files {
		text, _ := os.ReadFile(f) // of a thread that has ended
		all = append(all, strings.Fields(string(text))...)
	}
	return strings.Join(all, " ")
}

// A successor is launched before there is a process that could start it, opens its port as soon as there is one, and ends with the trial. It is no
// server of a trial that has ended before.
func TestOrderedSuccessor(t *testing.T) {
	client, first := begin(t), begin(t)
	p := long(params("http"))
	p.ResponseSize, p.KeepAlive, p.Duration = 100, "on", 5*time.Minute
	p.TransactionRate, p.Event, p.Progress = 100, "endpoint_replaced", traffic.MinProgressInterval
	answered := make(chan struct{})
	once := sync.OnceFunc(func() { close(answered) })
	client.Watch(func(traffic.Progress) { once() })
	ordered := agent.Ordered{Dir: t.TempDir(), Within: time.Minute, ExitReason: func() string { return "its process has ended" }, Kill: func(context.Context) error { return nil }}

	trial := must.Get(agent.Begin(t.Context(), client, first, p, p))(t)
	trial.ExpectSuccessor(t.Context())
	next := trial.LaunchSuccessor(t.Context(), ordered, "00000000", "b/next", p)
	ended := make(chan error, 1)
	go func() {
		_, _, err := trial.Run(t.Context())
		ended <- err
	}()
	soon, cancel := context.WithCancel(t.Context())
	cancel()
	must.Fail(t, next.Await(soon), "wait for the server that takes the place of another: context canceled")
	<-answered
	must.Do(t, trial.Replace(t.Context()))
	hold := firstProcess(t, ordered.Dir)
	must.Do(t, next.Await(t.Context()))
	must.True(t, children(t, hold.Process.Pid) != "", "the first process has no agent")
	trial.Abort(t.Context())
	must.Fail(t, <-ended, "the controller cancelled the trial")
	must.Do(t, next.End())

	// An order that is taken back starts nothing.
	trial = must.Get(agent.Begin(t.Context(), client, first, p, p))(t)
	trial.ExpectSuccessor(t.Context())
	next = trial.LaunchSuccessor(t.Context(), ordered, "00000000", "b/next", p)
	must.Do(t, next.End())
	must.Do(t, trial.Release(t.Context()))
	_, err := os.Stat(filepath.Join(ordered.Dir, "arguments"))
	must.True(t, os.IsNotExist(err), "the order is still there: %v", err)

	// A successor that comes when the trial has ended is refused.
	trial = must.Get(agent.Begin(t.Context(), client, first, p, p))(t)
	trial.ExpectSuccessor(t.Context())
	must.Do(t, trial.Release(t.Context()))
	must.Fail(t, trial.Succeed(t.Context(), begin(t), p), "the trial has no second server, or has ended")
}
