package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// KillPidfd kills the process that a pidfd refers to, which need not be a child, and waits at most within
// until it has exited. That it has exited already is not an error.
func KillPidfd(ctx context.Context, fd int, within time.Duration) error {
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("it was killed and did not exit within %s", within))
	defer cancel()
	const look = 50 // milliseconds between checks of ctx
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, look)
		switch {
		case n > 0:
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for its exit: %w", err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}
