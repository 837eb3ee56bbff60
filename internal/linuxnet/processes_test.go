//go:build linux

package linuxnet

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"tare/internal/testkit/must"
)

func TestProcesses(t *testing.T) {
	a, b := joined(t)
	cmd := exec.CommandContext(t.Context(), "cat")
	in := must.Get(cmd.StdinPipe())(t)
	must.Do(t, a.Start(cmd))
	t.Cleanup(func() { _ = cmd.Wait() })
	t.Cleanup(func() { _ = in.(io.Closer).Close() })
	if got, err := a.Sockets().Processes(); err != nil || !slices.Equal(got, []int{cmd.Process.Pid}) {
		t.Errorf("processes of a: %v, %v, want %d", got, err, cmd.Process.Pid)
	}
	must.EqualFor(t, "processes of b", 0, len(must.Get(b.Sockets().Processes())(t)))
}

// The CPU time of a process is known, and one that has ended is reported as that.
func TestCPUTime(t *testing.T) {
	if n, err := CPUTime(os.Getpid()); err != nil || n == 0 {
		t.Errorf("this process: %d, %v", n, err)
	}
	cmd := exec.CommandContext(t.Context(), "true")
	must.Do(t, cmd.Run())
	must.Fail(t, must.Err(CPUTime(cmd.Process.Pid)), "has ended")
}
