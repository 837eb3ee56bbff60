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

// reapOrphans waits for every child that ends, which for the first process of a
// container are those whose own parents have ended.
func reapOrphans() (stop func()) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	done := make(chan struct{})
	go func() {
		for {
			// One signal may stand for several children.
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

// KillAgent ends by force the agent that was started with the token, and whatever it
// has started: an engine has no call for that. It sees only the processes of its
// own sandbox.
func KillAgent(token string) error {
	want := []byte(TokenVariable + "=" + token)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || token == "" {
		return errors.Join(err, fmt.Errorf("end agent %q: nothing to look for", token))
	}
	var errs []error
	for _, dir := range dirs {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue // it has ended
		}
		for entry := range bytes.SplitSeq(environ, []byte{0}) {
			if !bytes.Equal(entry, want) {
				continue
			}
			pid, _ := strconv.Atoi(filepath.Base(dir))
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				errs = append(errs, fmt.Errorf("end agent %d: %w", pid, err))
			}
		}
	}
	return errors.Join(errs...)
}
