package drivertest

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/timelimit"
)

// Stop stops a process (SIGSTOP) and waits until each of its threads has stopped: until then another one than that which
// takes the signal may see that the run has ended, and end the process.
func Stop(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatalf("stop process %d: %v", pid, err)
	}
	waitStates(t, pid, "stopped", func(states []string) bool {
		return len(states) > 0 && !slices.ContainsFunc(states, func(s string) bool { return s != "T" })
	})
}

// WaitEnded waits until a process has exited, reaped or not.
func WaitEnded(t testing.TB, pid int) {
	t.Helper()
	waitStates(t, pid, "ended", func(states []string) bool {
		return !slices.ContainsFunc(states, func(s string) bool { return s != "Z" && s != "X" })
	})
}

// waitStates waits until the states of a process's threads, as in proc(5), fulfil a condition.
func waitStates(t testing.TB, pid int, what string, fulfilled func(states []string) bool) {
	t.Helper()
	for end := time.Now().Add(timelimit.Scaled(20 * time.Second)); time.Now().Before(end); time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
		if err != nil {
			t.Fatal(err)
		}
		var states []string
		for _, thread := range threads {
			// One that has ended since has none. The name of a thread, in parentheses, may have any.
			text, err := os.ReadFile(thread)
			if at := strings.LastIndexByte(string(text), ')'); err == nil && at >= 0 {
				states = append(states, strings.Fields(string(text[at+1:]))[0])
			}
		}
		if fulfilled(states) {
			return
		}
	}
	t.Fatalf("process %d has not %s", pid, what)
}
