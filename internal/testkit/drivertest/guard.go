package drivertest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/timelimit"
)

// Guard ends the test program if the guarded code takes longer than long, scaled by the
// variable of package timelimit, and before the limit of `go test -timeout`; that of benchmarks, which is hours, replaces it. It prints a short report of where the
// program hangs as the last output: the testing package's own report of every goroutine
// would be cut from a log that keeps only its last lines. The caller calls through at the
// end.
//
// Guard counts the seconds during which this program runs, so that a suspended machine is
// not taken for a hang.
func Guard(long time.Duration) (through func()) {
	done := make(chan struct{})
	long = timelimit.Scaled(long)
	if f := flag.Lookup("test.timeout"); f != nil {
		if own, ok := f.Value.(flag.Getter).Get().(time.Duration); ok && own > 0 {
			own -= own / 20
			if bench := flag.Lookup("test.bench"); own < long || bench != nil && bench.Value.String() != "" {
				long = own
			}
		}
	}
	go func() {
		for range int(long / time.Second) {
			select {
			case <-done:
				return
			case <-time.After(time.Second):
			}
		}
		fmt.Fprintf(os.Stderr, "not through after %s\n%s%s", long, children(os.Getpid()), moduleGoroutines())
		os.Exit(2)
	}()
	return func() { close(done) }
}

// children describes what the threads of each child wait for in the kernel.
func children(parent int) string {
	var b strings.Builder
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil || !bytes.Contains(status, []byte("\nPPid:\t"+strconv.Itoa(parent)+"\n")) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		waits := map[string]int{}
		tasks, _ := filepath.Glob(filepath.Join(dir, "task/*/wchan"))
		for _, t := range tasks {
			where, _ := os.ReadFile(t)
			waits[string(where)]++
		}
		fmt.Fprintf(&b, "%s: %v\n", bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '}), waits)
	}
	return b.String()
}

// moduleGoroutines returns the goroutines in this module with their callers in it, except those that
// wait for output of agents.
func moduleGoroutines() string {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var b strings.Builder
	for one := range strings.SplitSeq(string(stacks), "\n\n") {
		var calls []string
		lines := strings.Split(one, "\n")
		for _, l := range lines {
			// The last parenthesis opens the arguments, which are "..." for an inlined call.
			name, ok := strings.CutPrefix(l, "tare/internal/")
			if at := strings.LastIndex(name, "("); ok && at > 0 && !strings.Contains(l, "drivertest.Guard") {
				calls = append(calls, name[:at])
			}
		}
		if len(calls) > 0 && !slices.Contains(calls, "agent.(*Client).read") {
			fmt.Fprintf(&b, "%s %s\n", lines[0], strings.Join(calls, " < "))
		}
	}
	return b.String()
}
