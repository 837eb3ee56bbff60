package thread

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// waited returns how long the calling thread has been ready to run while its CPU ran something
// else, since the thread started. The kernel counts it in the second field of schedstat (proc(5)).
// It includes no time that a hypervisor took.
func waited() (time.Duration, bool) {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, false
	}
	ns, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return time.Duration(ns), err == nil
}
