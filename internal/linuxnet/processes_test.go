//go:build linux

package linuxnet

import (
	"io"
	"os/exec"
	"slices"
	"testing"
)

func TestProcesses(t *testing.T) {
	a, b := joined(t)
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	t.Cleanup(func() { _ = in.(io.Closer).Close() })
	if got, err := a.Processes(); err != nil || !slices.Equal(got, []int{cmd.Process.Pid}) {
		t.Errorf("processes of a: %v, %v, want %d", got, err, cmd.Process.Pid)
	}
	if got, err := b.Processes(); err != nil || len(got) != 0 {
		t.Errorf("processes of b: %v, %v, want none", got, err)
	}
}
