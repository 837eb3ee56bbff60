package drivertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Guard ends the test program if what it guards is not through after so long, which is
// to be many times what that takes on the slowest machine. Where it hangs is told last and
// briefly: of the testing package's own end at its time limit, which tells of every
// goroutine, a log that is cut to its last lines keeps nothing that matters. The caller
// calls through at the end.
//
// It counts the seconds that this program sees pass: a machine that stood still for
// minutes is no hang.
func Guard(long time.Duration) (through func()) {
	done := make(chan struct{})
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

// children tells of each child what its threads wait for in the kernel.
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

// moduleGoroutines are the goroutines that are in this module, with what they call alone: but for those
// that wait for what agents may say.
func moduleGoroutines() string {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var b strings.Builder
	for one := range strings.SplitSeq(string(stacks), "\n\n") {
		var calls []string
		lines := strings.Split(one, "\n")
		for _, l := range lines {
			if name, _, ok := strings.Cut(strings.TrimPrefix(l, "tare/internal/"), "(0x"); ok && name != l && strings.HasPrefix(l, "tare/") && !strings.Contains(l, "drivertest.Guard") {
				calls = append(calls, name)
			}
		}
		if len(calls) > 0 && !slices.Contains(calls, "agent.(*Client).read") {
			fmt.Fprintf(&b, "%s %s\n", lines[0], strings.Join(calls, " < "))
		}
	}
	return b.String()
}
