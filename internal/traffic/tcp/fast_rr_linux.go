package tcp

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// maxMessageCall bounds how many bytes of a message one system call transfers.
const maxMessageCall = readSize

// requestFast runs one flow with blocking calls, or several with epoll, on one thread.
func requestFast(ctx context.Context, c connection.List, w *rrWindow) error {
	return w.Params.Threading().Run(1, func(int) error {
		over, stop := thread.Cancelled(ctx)
		defer stop()
		var err error
		switch {
		case pipelined(w.Params, w.content):
			err = requestPipelined(over, c, w)
		case len(c) == 1:
			if err = requestAlone(over, c[0].FD(), w); err != nil {
				err = w.fail(0, err)
			}
		default:
			err = requestMany(over, c, w)
		}
		return exchange.WithCause(ctx, err)
	})
}

// requestAlone is the loop of a single flow. It bypasses the Go scheduler's system call entry and
// exit, which would take a third of the transaction rate, and allocates nothing after set-up.
func requestAlone(over *atomic.Bool, fd int, w *rrWindow) error {
	request, response := make([]byte, min(w.Params.RequestSize, maxMessageCall)), make([]byte, min(w.Params.ResponseSize, maxMessageCall))
	waits := exchange.BoundWaits(socket.PollTimeout)
	defer waits.End()
	release, err := waits.Of(fd)
	if err != nil {
		return err
	}
	defer release()
	slot, limit := w.FirstSlot(0)
	clock := exchange.NewClock(w.Window)
	quiet := connection.PeerSilence{}
	from, at := time.Duration(0), time.Duration(0)
	for {
		if w.Open() {
			if slot >= limit || at > w.LastSend() {
				w.SkipSlots(0, slot, limit)
				return nil
			}
			from = w.Schedule.Due(slot)
			slot++
			if err := clock.SleepUntil(from, over); err != nil {
				return err
			}
		} else if from >= w.Bins.End {
			return nil
		}
		if w.content != nil {
			w.content.request(0, request)
		}
		if err := sendAll(over, fd, request, int(w.Params.RequestSize), &quiet); err != nil {
			return fmt.Errorf("send request: %w", err)
		}
		more, err := recvAll(over, fd, response, int(w.Params.ResponseSize), &quiet)
		switch {
		case err == nil && !more:
			err = connection.ErrPeerClosed
		case err == nil && w.content != nil:
			err = w.content.response(0, response)
		}
		if err != nil {
			w.unread++
			return fmt.Errorf("receive response: %w", err)
		}
		at = clock.Since()
		w.Done(0, from, at)
		// In the closed loop the next request follows at once, so one clock reading ends an
		// exchange and starts the next.
		from = at
		if over.Load() {
			return exchange.ErrCancelled
		}
	}
}

// sendAll sends a message of n bytes from buf. It fails after a silence of the peer that is too long, unless that is nil.
func sendAll(over *atomic.Bool, fd int, buf []byte, n int, quiet *connection.PeerSilence) error {
	for n > 0 {
		sent, err := socket.Send(fd, connection.Rest(buf, n))
		if quiet != nil && (err != nil || quiet.Waiting) {
			err = quiet.Check(sent, err)
		}
		switch {
		case err == nil:
			n -= sent
		case err != socket.ErrAgain: //nolint:errorlint // send returns it unwrapped, and this is the hot loop
			return err
		case over.Load():
			return exchange.ErrCancelled
		}
	}
	return nil
}

// recvAll receives a message of n bytes into buf, as sendAll sends one. It reports whether the peer is still connected.
func recvAll(over *atomic.Bool, fd int, buf []byte, n int, quiet *connection.PeerSilence) (bool, error) {
	for n > 0 {
		got, err := socket.Recv(fd, connection.Rest(buf, n))
		if quiet != nil && (err != nil || quiet.Waiting) {
			err = quiet.Check(got, err)
		}
		switch {
		case err == nil && got == 0:
			return false, nil
		case err == nil:
			n -= got
		case err != socket.ErrAgain: //nolint:errorlint // recv returns it unwrapped, and this is the hot loop
			return false, err
		case over.Load():
			return false, exchange.ErrCancelled
		}
	}
	return true, nil
}

// respondFast answers one flow with blocking calls, or several with epoll, on one thread.
func respondFast(ctx context.Context, c connection.List, p traffic.Params, in content) (n int64, err error) {
	err = p.Threading().Run(1, func(int) (err error) {
		over, stop := thread.Cancelled(ctx)
		defer stop()
		switch {
		case pipelined(p, in):
			n, err = respondPipelined(over, c, p)
		case len(c) == 1:
			n, err = respondAlone(over, c[0].FD(), p, in)
		default:
			n, err = respondMany(over, c, p, in)
		}
		return exchange.WithCause(ctx, err)
	})
	return n, err
}

func respondAlone(over *atomic.Bool, fd int, p traffic.Params, in content) (n int64, err error) {
	request, response := make([]byte, min(p.RequestSize, maxMessageCall)), make([]byte, min(p.ResponseSize, maxMessageCall))
	waits := exchange.BoundWaits(socket.PollTimeout)
	defer waits.End()
	release, err := waits.Of(fd)
	if err != nil {
		return 0, err
	}
	defer release()
	for {
		more, err := recvAll(over, fd, request, int(p.RequestSize), nil)
		if _, failed := connection.FailureOf(err); failed {
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
			if _, failed := connection.FailureOf(err); failed {
				return n, nil
			}
			return n, fmt.Errorf("send response: %w", err)
		}
		n++
		if over.Load() {
			return n, exchange.ErrCancelled
		}
	}
}
