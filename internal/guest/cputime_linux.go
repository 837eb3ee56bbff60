package guest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTicks is the unit of CPU time in /proc, which is always 1/100 s on x86.
const clockTicks = 100

// cpuTime returns the CPU time of a process (proc(5), utime and stime).
func cpuTime(pid int) (time.Duration, bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	// The name in brackets may contain anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / clockTicks, err1 == nil && err2 == nil
}

// runDelay returns how long a process waited for a CPU: the longest wait of its threads. It is the
// second number of schedstat, in ns (kernel, Documentation/scheduler/sched-stats.rst), or 0 if
// there is none.
func runDelay(pid int) (most time.Duration) {
	files, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/schedstat")) // it fails only for a malformed pattern
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has exited
		}
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			most = max(most, time.Duration(n))
		}
	}
	return most
}
