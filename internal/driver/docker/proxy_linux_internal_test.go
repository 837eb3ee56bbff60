package docker

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The CPU time of a process is known, and one that has ended is reported as that.
func TestCPUTime(t *testing.T) {
	if n, err := cpuTime(os.Getpid()); err != nil || n == 0 {
		t.Errorf("this process: %d, %v", n, err)
	}
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if n, err := cpuTime(cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("a process that has ended: %d, %v", n, err)
	}
}
