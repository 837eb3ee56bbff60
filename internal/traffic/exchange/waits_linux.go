package exchange

import (
	"fmt"
	"time"

	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// Waits bounds how long the calls of a loop wait on its thread, so that the loop can look at its context and its clock. Where it can, the
// kernel interrupts the thread. Otherwise each call has a timeout, and each call that waits starts and stops a timer of the
// kernel, at both endpoints, which a round trip on one CPU contains: see bench/README.md.
type Waits struct {
	bound time.Duration
	stop  func()
}

// BoundWaits begins to bound the waits of the calling thread, which is locked, at bound.
func BoundWaits(bound time.Duration) Waits {
	stop, err := thread.Interrupt(bound)
	if err != nil {
		stop = nil // the calls have timeouts
	}
	return Waits{bound, stop}
}

// End ends the interruptions. The thread may then not wait without a timeout.
func (w Waits) End() {
	if w.stop != nil {
		w.stop()
	}
}

// Timeout is that of a call that waits: negative for none.
func (w Waits) Timeout() time.Duration {
	if w.stop != nil {
		return -1
	}
	return w.bound
}

// Of gives a socket the timeout of this thread's calls. Release gives it back that which other threads need, which are not interrupted.
func (w Waits) Of(fd int) (release func(), err error) {
	if err := socket.SetTimeout(fd, w.Timeout()); err != nil {
		return nil, fmt.Errorf("set socket timeout: %w", err)
	}
	return func() { _ = socket.SetTimeout(fd, socket.PollTimeout) }, nil // an error means that the socket is closed
}
