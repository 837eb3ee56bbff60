//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Go fuzzes in two processes: one chooses inputs, and takes up to 250 MB for that, the other is a
// worker that runs the target. Only the worker is limited and measured: the first process starts it
// by its own first argument, which is this program. The variables tell it what to run, and where to
// report.
const (
	workerFlag   = "-test.fuzzworker"
	workerBinary = "TARE_FUZZ_BINARY"
	workerReport = "TARE_FUZZ_REPORT"
)

// isWorker reports whether this process is to be a worker.
func isWorker() bool { return len(os.Args) > 1 && os.Args[1] == workerFlag }

// work runs a worker with a limit of what it may map to write to, so that an input that needs much
// more is a crash, which Go records like any other. It adds the peak of its resident memory, in
// bytes, to the report, and returns the exit code. GOMEMLIMIT keeps garbage from being a large part
// of the peak.
func work() int {
	args := os.Args[1:]
	if args[len(args)-1] == "-test.fuzz=" { // to run an input once more
		args = args[1:]
	}
	c := exec.Command(os.Getenv(workerBinary), args...) //nolint:noctx // it ends with its pipes
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	for fd := uintptr(3); fd < 6; fd++ { // Go's pipes and shared memory
		if _, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err == nil && len(args) == len(os.Args)-1 {
			c.ExtraFiles = append(c.ExtraFiles, os.NewFile(fd, "inherited"))
		}
	}
	c.Env = append(os.Environ(), "GOMEMLIMIT="+strconv.Itoa(maxMemory/2))
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	limit := unix.Rlimit{Cur: maxMapped, Max: maxMapped}
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &limit); err != nil {
		fmt.Fprintf(os.Stderr, "fuzz: limit the memory of a worker: %v\n", err)
		return 1
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	err := c.Start()
	if err == nil {
		go watch(c.Process, os.Getenv(workerReport), stop)
		err = c.Wait()
	}
	if c.ProcessState != nil { // it was started
		if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			report(os.Getenv(workerReport), usage.Maxrss<<10)
		}
	}
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.ExitCode() >= 0:
		return ended.ExitCode()
	case err != nil:
		return 2
	}
	return 0
}

// watch passes interrupts on, and reports the peak of a process so far, because this one may be
// killed before the other has ended.
func watch(p *os.Process, to string, stop <-chan os.Signal) {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	reported := int64(0)
	for {
		select {
		case s := <-stop:
			_ = p.Signal(s) // it may have ended
		case <-again.C:
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid))
		if err != nil {
			return // it has ended
		}
		_, rest, _ := strings.Cut(string(text), "VmHWM:")
		if fields := strings.Fields(rest); len(fields) > 0 {
			if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil && n<<10 > reported {
				reported = n << 10
				report(to, reported)
			}
		}
	}
}

// report adds a peak to a file.
func report(path string, peak int64) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, peak)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "fuzz: report the memory of a worker: %v\n", err)
	}
}

// peakIn returns the largest peak of a report, 0 if there is none.
func peakIn(path string) (most int64) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for word := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			most = max(most, n)
		}
	}
	return most
}
