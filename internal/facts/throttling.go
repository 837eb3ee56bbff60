package facts

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Throttling returns in how many periods, and for how long in all, the kernel has stopped this
// process's control group and the visible groups above it because a CPU limit was used up. root is
// normally "/". known is false where no group counts that: without a CPU controller, or on another
// system.
func Throttling(root string) (periods uint64, stopped time.Duration, known bool) {
	sys := files{os.DirFS(root)}
	read := func(dir string) (float64, error) {
		text, err := sys.readText(dir + "/cpu.stat")
		if err != nil {
			return 0, err
		}
		n, took, ok := parseThrottling(text)
		if !ok {
			return 0, fs.ErrNotExist // the root group has no limit
		}
		periods, stopped, known = periods+n, stopped+took, true
		return 0, nil
	}
	if _, _, err := sys.smallestLimit("cpu", read, read, func(float64, string) {}); err != nil {
		return 0, 0, false
	}
	return periods, stopped, known
}

// parseThrottling reads a cpu.stat: nr_throttled, with throttled_usec in version 2 of control groups
// and throttled_time, in ns, in version 1.
func parseThrottling(text string) (periods uint64, stopped time.Duration, ok bool) {
	var have, timed bool
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(value, 10, 62)
		if err != nil {
			continue
		}
		switch name {
		case "nr_throttled":
			periods, have = n, true
		case "throttled_usec":
			stopped, timed = time.Duration(min(n, 1<<53))*time.Microsecond, true //nolint:gosec // 53 bits
		case "throttled_time":
			stopped, timed = time.Duration(n), true //nolint:gosec // 62 bits
		}
	}
	return periods, stopped, have && timed
}
