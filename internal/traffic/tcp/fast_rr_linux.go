package tcp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// maxMessageCall bounds how many bytes of a message one system call transfers.
const maxMessageCall = readSize

// requestFast runs one flow with blocking calls, or several with epoll, on one thread.
func requestFast(ctx context.Context, c conns, w *rrWindow) error {
	return w.p.Threading().Run(1, func(int) error {
		over, stop := thread.Cancelled(ctx)
		defer stop()
		var err error
		if len(c) == 1 {
			if err = requestAlone(over, c[0].FD(), w); err != nil {
				err = w.fail(0, err)
			}
		} else {
			err = requestMany(over, c, w)
		}
		return withCause(ctx, err)
	})
}

// errCancelled is returned by an endpoint whose context has ended; withCause adds the cause.
var errCancelled = errors.New("cancelled")

// withCause adds why the context ended to the error of an endpoint that ended with it. The error need not be
// errCancelled: the peer may have been cancelled first, and then it has gone.
func withCause(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, context.Cause(ctx))
}

// requestAlone is the loop of a single flow. It bypasses the Go scheduler's system call entry and
// exit, which would take a third of the transaction rate, and allocates nothing after set-up.
func requestAlone(over *atomic.Bool, fd int, w *rrWindow) error {
	request, response := make([]byte, min(w.p.RequestSize, maxMessageCall)), make([]byte, min(w.p.ResponseSize, maxMessageCall))
	slot, limit := w.firstSlot(0)
	clock := newPreciseClock(w)
	quiet := peerSilence{}
	from, at := time.Duration(0), time.Duration(0)
	for {
		if w.open() {
			if slot >= limit || at > w.lastSend() {
				w.skipSlots(0, slot, limit)
				return nil
			}
			from = w.schedule.due(slot)
			slot++
			if err := clock.sleepUntil(from, over); err != nil {
				return err
			}
		} else if from >= w.bins.End {
			return nil
		}
		if w.content != nil {
			w.content.request(0, request)
		}
		if err := sendAll(over, fd, request, int(w.p.RequestSize), &quiet); err != nil {
			return fmt.Errorf("send request: %w", err)
		}
		more, err := recvAll(over, fd, response, int(w.p.ResponseSize), &quiet)
		switch {
		case err == nil && !more:
			err = errPeerClosed
		case err == nil && w.content != nil:
			err = w.content.response(0, response)
		}
		if err != nil {
			w.unread++
			return fmt.Errorf("receive response: %w", err)
		}
		at = clock.since()
		w.done(0, from, at)
		// In the closed loop the next request follows at once, so one clock reading ends an
		// exchange and starts the next.
		from = at
		if over.Load() {
			return errCancelled
		}
	}
}

// sendAll sends a message of n bytes from buf. It fails after a silence of the peer that is too long, unless that is nil.
func sendAll(over *atomic.Bool, fd int, buf []byte, n int, quiet *peerSilence) error {
	for n > 0 {
		sent, err := socket.Send(fd, rest(buf, n))
		if quiet != nil && (err != nil || quiet.waiting) {
			err = quiet.check(sent, err)
		}
		switch {
		case err == nil:
			n -= sent
		case err != socket.ErrAgain: //nolint:errorlint // send returns it unwrapped, and this is the hot loop
			return err
		case over.Load():
			return errCancelled
		}
	}
	return nil
}

// recvAll receives a message of n bytes into buf, as sendAll sends one. It reports whether the peer is still connected.
func recvAll(over *atomic.Bool, fd int, buf []byte, n int, quiet *peerSilence) (bool, error) {
	for n > 0 {
		got, err := socket.Recv(fd, rest(buf, n))
		if quiet != nil && (err != nil || quiet.waiting) {
			err = quiet.check(got, err)
		}
		switch {
		case err == nil && got == 0:
			return false, nil
		case err == nil:
			n -= got
		case err != socket.ErrAgain: //nolint:errorlint // recv returns it unwrapped, and this is the hot loop
			return false, err
		case over.Load():
			return false, errCancelled
		}
	}
	return true, nil
}

// respondFast answers one flow with blocking calls, or several with epoll, on one thread.
func respondFast(ctx context.Context, c conns, p traffic.Params, in content) (n int64, err error) {
	err = p.Threading().Run(1, func(int) (err error) {
		over, stop := thread.Cancelled(ctx)
		defer stop()
		if len(c) == 1 {
			n, err = respondAlone(over, c[0].FD(), p, in)
		} else {
			n, err = respondMany(over, c, p, in)
		}
		return withCause(ctx, err)
	})
	return n, err
}

func respondAlone(over *atomic.Bool, fd int, p traffic.Params, in content) (n int64, err error) {
	request, response := make([]byte, min(p.RequestSize, maxMessageCall)), make([]byte, min(p.ResponseSize, maxMessageCall))
	for {
		more, err := recvAll(over, fd, request, int(p.RequestSize), nil)
		if _, failed := failureOf(err); failed {
			return n, nil // the client counts it
		}
		if err == nil && more && in != nil {
			err = in.answer(request, response)
		}
		if err != nil {
			return n, fmt.Errorf("receive request: %w", err)
		}
		if !more {
			return n, nil
		}
		if err := sendAll(over, fd, response, int(p.ResponseSize), nil); err != nil {
			if _, failed := failureOf(err); failed {
				return n, nil
			}
			return n, fmt.Errorf("send response: %w", err)
		}
		n++
		if over.Load() {
			return n, errCancelled
		}
	}
}

// preciseClock measures the time since its creation, with the clock that it also sleeps by.
type preciseClock struct {
	start clock.Instant
	mono  int64 // CLOCK_MONOTONIC at start, ns

	spin bool
}

// newPreciseClock starts the clock of a window. If it is used to sleep, the thread gets the smallest
// timer slack: the default delays every wake-up by 50 us.
func newPreciseClock(w *rrWindow) preciseClock {
	if w.open() {
		// If it fails, sends are later, which the round trips show.
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	}
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // every Linux has it
	return preciseClock{clock.Now(), ts.Nano(), w.p.Spins()}
}

func (c preciseClock) since() time.Duration { return c.start.Since() }

// sleepUntil returns at or after a time. It polls the clock only if the trial asks for that: if both
// endpoints share a CPU, that takes time from the server.
func (c preciseClock) sleepUntil(at time.Duration, over *atomic.Bool) error {
	for {
		now := c.since()
		if now >= at {
			return nil
		}
		if over.Load() {
			return errCancelled
		}
		if c.spin {
			thread.Yield()
			continue
		}
		// A raw call blocks the Go runtime, so it lasts no longer than PollTimeout.
		socket.SleepUntil(c.mono + int64(min(at, now+socket.PollTimeout)))
	}
}
