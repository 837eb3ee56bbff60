//go:build linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tare/internal/agent"
)

// signal sends a signal to the controller.
func signal(s syscall.Signal) func(*tested) error {
	return func(r *tested) error {
		if err := r.cmd.Process.Signal(s); errors.Is(err, os.ErrProcessDone) {
			return errTooLate
		} else if err != nil {
			return err
		}
		return nil
	}
}

// stopController stops the controller for a moment, as a suspended machine does.
func stopController(r *tested) error {
	return r.halt(r.cmd.Process.Pid, r.between(50*time.Millisecond, 500*time.Millisecond))
}

// halt stops a process for a time.
func (r *tested) halt(pid int, long time.Duration) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return tooLate(err)
	}
	time.Sleep(long)
	return tooLate(syscall.Kill(pid, syscall.SIGCONT))
}

// tooLate translates the error of a process that has ended.
func tooLate(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return errTooLate
	}
	return err
}

// between is a random duration.
func (r *tested) between(least, most time.Duration) time.Duration {
	return least + time.Duration(r.rng.Int64N(int64(most-least)))
}

func inTerminal(r *tested) error {
	r.terminal = true
	return nil
}

func closeTerminal(r *tested) error { return r.ptmx.Close() }

// The processes of a run.
func isAgent(p proc) bool { return len(p.args) > 1 && p.args[1] == agent.Command }

func isContainer(p proc) bool { return len(p.args) > 1 && p.args[1] == agent.PauseCommand }

// isHelper accepts what is neither the controller's nor an agent: daemons, first processes of
// engines, relays.
func isHelper(p proc) bool { return !isAgent(p) && !isContainer(p) && len(p.args[0]) > 0 }

func named(name string) func(proc) bool {
	return func(p proc) bool { return filepath.Base(p.args[0]) == name }
}

// one waits for a process and chooses one at random.
func (r *tested) one(pick func(proc) bool) (proc, error) {
	var found []proc
	if !r.until(func() bool { found = r.ours(pick); return len(found) > 0 }) {
		return proc{}, errTooLate
	}
	return found[r.rng.IntN(len(found))], nil
}

func killOne(pick func(proc) bool) func(*tested) error {
	return func(r *tested) error {
		p, err := r.one(pick)
		if err != nil {
			return err
		}
		r.note("kill -9 %d (%s)", p.pid, strings.Join(p.args, " "))
		return tooLate(syscall.Kill(p.pid, syscall.SIGKILL))
	}
}

// stopOne stops a process for ever.
func stopOne(pick func(proc) bool) func(*tested) error {
	return func(r *tested) error {
		p, err := r.one(pick)
		if err != nil {
			return err
		}
		r.note("stop %d (%s)", p.pid, strings.Join(p.args, " "))
		return tooLate(syscall.Kill(p.pid, syscall.SIGSTOP))
	}
}

// pauseOne stops a process for a time.
func pauseOne(pick func(proc) bool, least, most time.Duration) func(*tested) error {
	return func(r *tested) error {
		p, err := r.one(pick)
		if err != nil {
			return err
		}
		long := r.between(least, most)
		r.note("stop %d (%s) for %s", p.pid, strings.Join(p.args, " "), long)
		return r.halt(p.pid, long)
	}
}

// slowDown lets a process run for a tenth of the time.
func slowDown(pick func(proc) bool) func(*tested) error {
	return func(r *tested) error {
		p, err := r.one(pick)
		if err != nil {
			return err
		}
		r.note("slow down %d (%s)", p.pid, strings.Join(p.args, " "))
		for range 30 {
			if err := r.halt(p.pid, 90*time.Millisecond); errors.Is(err, errTooLate) {
				return nil // it was slow until it ended
			} else if err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	}
}

// note records what exactly was done.
func (r *tested) note(format string, args ...any) { r.t.Logf(format, args...) }

// stepClock ends the run, and lets it go on where the clocks that count from the start of the
// machine are hours away: as after a restart. The real time of a machine cannot be set for some
// of its processes only.
func stepClock(r *tested) error {
	if err := signal(syscall.SIGTERM)(r); err != nil {
		return err
	}
	by := r.between(time.Hour, 1000*time.Hour)
	r.note("clocks step by %s", by)
	seconds := fmt.Sprint(int(by.Seconds()))
	r.before = []string{"unshare", "--time", "--monotonic", seconds, "--boottime", seconds}
	return nil
}

// limitFiles lets the controller open at most a few more files.
func limitFiles(r *tested) error {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.cmd.Process.Pid))
	if err != nil {
		return errTooLate
	}
	most := len(open) + r.rng.IntN(8)
	r.note("at most %d files, %d are open", most, len(open))
	return prlimit(r.cmd.Process.Pid, most)
}

// limitProcesses lets the run start no further process or thread. A Go program whose runtime
// cannot have the thread that it needs cannot go on.
func limitProcesses(r *tested) error {
	group, err := r.pidsGroup()
	if err != nil {
		return err
	}
	count, err := os.ReadFile(filepath.Join(group, "pids.current"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(count)) == "0" {
		return errTooLate
	}
	r.note("at most %s processes and threads", strings.TrimSpace(string(count)))
	return os.WriteFile(filepath.Join(group, "pids.max"), count, 0o644)
}
