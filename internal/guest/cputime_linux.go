package guest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTicks is the unit of CPU time in /proc, which on x86 is always 100 a second.
const clockTicks = 100

// cpuTime is how long a process has run (proc(5), utime and stime).
func cpuTime(pid int) (time.Duration, bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	// The name in brackets may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / clockTicks, err1 == nil && err2 == nil
}

// runDelay is how long a process was ready to run and did not: of its threads, the one
// that waited the most. The second number of schedstat has it, in ns (kernel,
// Documentation/scheduler/sched-stats.rst); where there is none it is 0.
func runDelay(pid int) (most time.Duration) {
	files, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/schedstat")) // it fails only for a malformed pattern
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			most = max(most, time.Duration(n))
		}
	}
	return most
}
