package engine_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/engine"
)

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func pause(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// hostPID is a container's first process as this machine counts.
func hostPID(t *testing.T, c *engine.Container) int {
	t.Helper()
	return find(t, func(args []string) bool {
		return args[0] == "/tare" && args[1] == "hold" && args[len(args)-1] == c.Name
	})
}

// dockerd is the bench's engine as this machine counts.
func (b bench) dockerd(t *testing.T) int {
	t.Helper()
	return find(t, func(args []string) bool {
		return filepath.Base(args[0]) == "dockerd" && strings.Contains(strings.Join(args, " "), b.Dir())
	})
}

// find finds the one process on this machine whose command line fits.
func find(t *testing.T, fits func(args []string) bool) int {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		if err != nil || len(args) < 2 || !fits(args) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		found = append(found, pid)
	}
	if len(found) != 1 {
		t.Fatalf("%d processes fit, want one", len(found))
	}
	return found[0]
}
