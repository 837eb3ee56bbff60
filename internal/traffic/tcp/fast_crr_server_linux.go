package tcp

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// crrConn is one connection at the server.
type crrConn struct {
	fd      int
	left    int // bytes of the current message still to transfer
	sending bool
}

// crrServerLoop is the server's loop, with one thread for all connections. With a single flow it
// waits in accept and then for the request, as a plain blocking server does. Otherwise, or when a
// request does not arrive at once, it leaves the connection to a poller ("parked").
type crrServerLoop struct {
	crrTrial
	listener          *admitter
	listenFD          int
	control           socket.Stream
	over              *atomic.Bool
	waits             exchange.Waits
	poll              *socket.Poller
	parked            []crrConn // by the poller's id; fd is negative if free
	free              []int
	waiting           int // of parked
	polling           bool
	pollsAccept       bool  // a blocking accept does not time out here, so it is called when there is a connection
	closing           []int // queue of answered connections that wait for the client's FIN or RST
	request, response []byte
	crrServed
}

// listenerID identifies the listening socket in the poller.
const listenerID = -1

func serveCRRFast(ctx context.Context, l *admitter, control socket.Stream, t crrTrial) (crrServed, error) {
	s := &crrServerLoop{crrTrial: t, listener: l, listenFD: l.FD(), control: control,
		request: make([]byte, min(t.requestBytes(), maxMessageCall)), response: make([]byte, min(t.ResponseSize, maxMessageCall)),
		closing: make([]int, 0, 4*t.Streams+64), pollsAccept: !socket.WaitsInAccept()}
	err := thread.Run(1, t.CPU, func(int) (err error) {
		var stop func() bool
		s.over, stop = thread.Cancelled(ctx)
		defer stop()
		if s.poll, err = socket.NewPoller(); err != nil {
			return err
		}
		defer s.close()
		s.waits = exchange.BoundWaits(exchange.AcceptTimeout)
		defer s.waits.End()
		if _, err := s.waits.Of(s.listenFD); err != nil { // the next trial has another listener
			return err
		}
		if err := s.poll.Add(s.listenFD, listenerID, unix.EPOLLIN); err != nil {
			return err
		}
		return exchange.WithCause(ctx, s.run())
	})
	return s.crrServed, err
}

func (s *crrServerLoop) close() {
	for _, c := range s.parked {
		if c.fd >= 0 {
			unix.Close(c.fd)
		}
	}
	for _, fd := range s.closing {
		unix.Close(fd)
	}
	s.poll.Close()
}

// controlCheckInterval is how many rounds of a busy loop pass between checks of the control
// connection. An idle loop checks it after each timeout.
const controlCheckInterval = 256

func (s *crrServerLoop) run() error {
	for round := 1; ; round++ {
		if s.over.Load() {
			return exchange.ErrCancelled
		}
		idle, err := s.step()
		if err != nil {
			return err
		}
		if !idle && round%controlCheckInterval != 0 {
			continue
		}
		s.sweep(len(s.closing))
		if ended, err := s.ended(); ended || err != nil {
			return err
		}
	}
}

// ended checks whether the client has closed the control connection.
func (s *crrServerLoop) ended() (bool, error) {
	var b [1]byte
	n, err := s.control.ReadNow(b[:])
	switch {
	case socket.IsAgain(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("control connection: %w", err)
	case n > 0:
		return false, errors.New("control connection: the client sent unexpected data")
	}
	// Connections that are still parked sent no tag, so they are not of this trial.
	s.listener.Refused += s.waiting
	return true, nil
}

// step handles the next event. With nothing parked it waits in accept, else in the poller. idle is
// true if it timed out.
func (s *crrServerLoop) step() (idle bool, err error) {
	if s.waiting == 0 {
		if err := s.blocking(true); err != nil {
			return false, err
		}
		if s.pollsAccept {
			if ready, err := socket.PollFD(s.listenFD, unix.POLLIN, s.waits.Timeout()); !ready || err != nil {
				return !ready, err
			}
		}
		return s.acceptOne()
	}
	if err := s.blocking(false); err != nil {
		return false, err
	}
	events, err := s.poll.Wait(s.waits.Timeout())
	if err != nil {
		return false, err
	}
	for _, e := range events {
		if e.Fd != listenerID {
			if err := s.resume(int(e.Fd)); err != nil {
				return false, err
			}
			continue
		}
		for none := false; !none; {
			if none, err = s.acceptOne(); err != nil {
				return false, err
			}
		}
	}
	return len(events) == 0, nil
}

// blocking makes accept wait or not. Only a change needs a system call.
func (s *crrServerLoop) blocking(wait bool) error {
	if s.polling == !wait {
		return nil
	}
	s.polling = !wait
	if err := unix.SetNonblock(s.listenFD, !wait); err != nil {
		return fmt.Errorf("set listening socket: %w", err)
	}
	return nil
}

// acceptOne accepts one connection and advances it. none is true if there was none.
func (s *crrServerLoop) acceptOne() (none bool, err error) {
	fd, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(s.listenFD), 0, 0, unix.SOCK_CLOEXEC, 0, 0)
	switch errno {
	case 0:
	case unix.EAGAIN, unix.EINTR:
		return true, nil
	case unix.ECONNABORTED:
		return false, nil
	default:
		return false, fmt.Errorf("accept connection after %d others: %w", s.connections, errno)
	}
	c := crrConn{fd: int(fd), left: s.requestBytes()}
	done, err := s.advance(&c)
	if done || err != nil {
		return false, err
	}
	return false, s.park(c)
}

// advance advances a connection. done is true if the loop is finished with it: answered or refused.
func (s *crrServerLoop) advance(c *crrConn) (done bool, err error) {
	for !c.sending && c.left > 0 {
		got := s.requestBytes() - c.left
		n, err := s.recv(c.fd, s.request[:min(c.left, len(s.request))])
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return false, nil
		}
		if err != nil || n == 0 || !s.hasTag(s.request[:n], got) {
			return true, s.refuse(c.fd, got, err)
		}
		if c.left -= n; c.left == 0 {
			c.sending, c.left = true, int(s.ResponseSize)
			s.connections++
		}
	}
	for c.left > 0 {
		n, err := socket.SendNow(c.fd, s.response[:min(c.left, len(s.response))])
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return false, nil
		}
		if err != nil {
			socket.CloseNow(c.fd)
			if _, counted := connection.FailureOf(err); counted { // by the client
				return true, nil
			}
			return true, fmt.Errorf("send response after %d others: %w", s.messages, err)
		}
		c.left -= n
	}
	s.messages++
	s.closing = append(s.closing, c.fd)
	s.sweep(2)
	return true, nil
}

// recv waits for a request only if no other event can occur meanwhile. The connection inherits from
// its listener the timeout that bounds the wait.
func (s *crrServerLoop) recv(fd int, b []byte) (int, error) {
	if s.waiting == 0 && s.Streams == 1 {
		return socket.Recv(fd, b)
	}
	return socket.RecvNow(fd, b)
}

// hasTag compares received bytes at an offset of the request with the tag.
func (s *crrServerLoop) hasTag(b []byte, at int) bool {
	if at >= len(s.tag) {
		return true
	}
	want := s.tag[at:]
	n := min(len(b), len(want))
	return subtle.ConstantTimeCompare(b[:n], want[:n]) == 1
}

// refuse closes a connection that did not send the tag.
func (s *crrServerLoop) refuse(fd, got int, err error) error {
	socket.CloseNow(fd)
	if got >= len(s.tag) {
		if _, counted := connection.FailureOf(err); err == nil || counted { // by the client
			return nil
		}
		return fmt.Errorf("receive request after %d others: %w", s.connections, err)
	}
	s.listener.Refused++
	return s.listener.tooMany()
}

// park adds a connection to the poller.
func (s *crrServerLoop) park(c crrConn) error {
	if s.waiting >= s.Streams+connection.MaxRefused {
		socket.CloseNow(c.fd)
		return connection.TooManySilent(s.waiting+1, s.Streams)
	}
	id := len(s.parked)
	if n := len(s.free); n > 0 {
		id, s.free = s.free[n-1], s.free[:n-1]
		s.parked[id] = c
	} else {
		s.parked = append(s.parked, c)
	}
	s.waiting++
	return s.poll.Add(c.fd, id, socket.PollEdge)
}

// resume continues with a parked connection that has an event.
func (s *crrServerLoop) resume(id int) error {
	c := &s.parked[id]
	if c.fd < 0 {
		return nil
	}
	done, err := s.advance(c)
	if done {
		c.fd = -1
		s.free = append(s.free, id)
		s.waiting--
	}
	return err
}

// sweep checks the n oldest answered connections and closes those that the client has closed. The
// client must close first: that endpoint gets the TIME_WAIT.
func (s *crrServerLoop) sweep(n int) {
	var b [1]byte
	for range min(n, len(s.closing)) {
		fd := s.closing[0]
		copy(s.closing, s.closing[1:])
		s.closing = s.closing[:len(s.closing)-1]
		if _, err := socket.RecvNow(fd, b[:]); err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			s.closing = append(s.closing, fd)
			continue
		}
		socket.CloseNow(fd)
	}
}
