package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// reapOrphans waits for every child that exits. For the first process of a container these include
// processes whose own parents have exited.
func reapOrphans() (stop func()) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	done := make(chan struct{})
	go func() {
		for {
			// One signal may report several children.
			for {
				pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
				if err != nil && !errors.Is(err, unix.EINTR) || err == nil && pid <= 0 {
					break
				}
			}
			select {
			case <-ended:
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(ended)
		close(done)
	}
}

// KillAgent kills the agent that was started with the token, and every process that the agent
// started: the Engine API has no call for that. The token is in the environment of both, or an
// argument of the agent where no environment can be given, as in a pod. It sees only
// processes of its own sandbox.
func KillAgent(token string) error {
	want := []byte(TokenVariable + "=" + token)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || token == "" {
		return errors.Join(err, fmt.Errorf("kill agent: token %q matches no process", token))
	}
	var errs []error
	for _, dir := range dirs {
		if !has(dir, want) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("kill agent %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}

// has reports whether a process has an entry in its environment, or as an argument.
func has(proc string, want []byte) bool {
	for _, file := range []string{"environ", "cmdline"} {
		text, err := os.ReadFile(filepath.Join(proc, file))
		if err != nil {
			continue // it has exited
		}
		for entry := range bytes.SplitSeq(text, []byte{0}) {
			if bytes.Equal(entry, want) {
				return true
			}
		}
	}
	return false
}
