package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// httpFastConn is a connection at the server's loop.
type httpFastConn struct {
	httpConn
	settled bool      // it had a request of the trial, or was refused
	fd      int       // negative if free
	out     *outgoing // the response that is being sent, nil for none
	sent    int       // bytes of it
	pending []byte    // received behind the request that is being answered
	lingers int       // bytes that may still be discarded after a refusal, 0 if there was none
}

// httpServerLoop is the server's loop, with one thread for all connections.
type httpServerLoop struct {
	httpServed
	answers  httpAnswers
	listenFD int
	wakeFD   int
	over     *atomic.Bool // the loop is to end
	waits    exchange.Waits
	poll     *socket.Poller
	conns    []httpFastConn // by the poller's id
	free     []int
	silent   int // connections without a request of the trial
	sending  int // responses that wait for room
	buf      []byte
}

// In the poller, tcp.listenerID identifies the listening socket, and wakeID what wakes the loop at its end.
const (
	listenerID = -1
	wakeID     = -2
)

func serveHTTPFast(ctx context.Context, l socket.Listener, t httpTrial) (httpServed, error) {
	s := &httpServerLoop{answers: httpAnswers{t: t}, listenFD: l.FD(), buf: make([]byte, httpBuffer)}
	err := t.Threading().Run(1, func(int) (err error) {
		if s.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			return fmt.Errorf("open an event: %w", err)
		}
		defer unix.Close(s.wakeFD)
		var stop func() bool
		s.over, stop = thread.Cancelled(ctx)
		defer stop()
		ended := make(chan struct{})
		unwake := context.AfterFunc(ctx, func() {
			defer close(ended)
			_, _ = unix.Write(s.wakeFD, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		})
		defer func() {
			if !unwake() {
				<-ended // it may still use the descriptor
			}
		}()
		s.waits = exchange.BoundWaits(exchange.AcceptTimeout)
		defer s.waits.End()
		defer s.close()
		if err := s.open(); err != nil {
			return err
		}
		err = s.run()
		if errors.Is(err, exchange.ErrCancelled) {
			err = context.Cause(ctx)
		}
		if errors.Is(err, exchange.ErrClientEnded) {
			return s.rest()
		}
		return err
	})
	return s.httpServed, err
}

func (s *httpServerLoop) open() (err error) {
	if s.poll, err = socket.NewPoller(); err != nil {
		return err
	}
	if err := unix.SetNonblock(s.listenFD, true); err != nil {
		return fmt.Errorf("set listening socket: %w", err)
	}
	if err := s.poll.Add(s.listenFD, listenerID, unix.EPOLLIN); err != nil {
		return err
	}
	return s.poll.Add(s.wakeFD, wakeID, unix.EPOLLIN)
}

// close closes what is left when the loop ends. Connections without a request of the trial are not of it.
func (s *httpServerLoop) close() {
	s.refused += s.silent
	for id := range s.conns {
		if s.conns[id].fd >= 0 {
			s.end(id)
		}
	}
	if s.poll != nil {
		s.poll.Close()
	}
}

func (s *httpServerLoop) run() error {
	for !s.over.Load() {
		if id := s.only(); id >= 0 {
			if timedOut, err := s.waitFor(id); err != nil {
				return err
			} else if !timedOut {
				continue
			}
			if _, err := s.step(false); err != nil {
				return err
			}
			continue
		}
		if _, err := s.step(true); err != nil {
			return err
		}
	}
	return exchange.ErrCancelled
}

// maxQueuedEvents bounds how often the loop looks for what arrived before the end.
const maxQueuedEvents = 1 << 12

// rest handles what has arrived before the end.
func (s *httpServerLoop) rest() error {
	for range maxQueuedEvents {
		if n, err := s.step(false); n == 0 || err != nil {
			return err
		}
	}
	return nil
}

// mayWait reports whether the loop may wait for a single connection.
func (s *httpServerLoop) mayWait() bool { return s.answers.t.Streams == 1 && s.answers.t.reuse }

// only returns the id of the connection whose next request is all that can arrive of a trial of one flow, -1 if there
// is none.
func (s *httpServerLoop) only() int {
	if !s.mayWait() || len(s.conns)-len(s.free) != 1 || s.silent > 0 || s.sending > 0 {
		return -1
	}
	return slices.IndexFunc(s.conns, func(c httpFastConn) bool { return c.fd >= 0 && c.lingers == 0 })
}

// waitFor waits in the call that receives from a connection.
func (s *httpServerLoop) waitFor(id int) (timedOut bool, err error) {
	n, err := socket.Recv(s.conns[id].fd, s.buf)
	if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
		return true, nil
	}
	return false, s.arrived(id, n, err)
}

// step handles the events that there are, or waits for some, and returns their number.
func (s *httpServerLoop) step(wait bool) (n int, err error) {
	timeout := s.waits.Timeout()
	if !wait {
		timeout = 0
	}
	events, err := s.poll.Wait(timeout)
	if err != nil {
		return 0, err
	}
	for _, e := range events {
		switch e.Fd {
		case wakeID:
		case listenerID:
			n++
			err = s.accept()
		default:
			n++
			err = s.advance(int(e.Fd))
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// accept accepts the connections that have arrived.
func (s *httpServerLoop) accept() error {
	for {
		fd, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(s.listenFD), 0, 0, unix.SOCK_CLOEXEC, 0, 0)
		switch errno {
		case 0:
		case unix.EAGAIN, unix.EINTR:
			return nil
		case unix.ECONNABORTED:
			continue
		default:
			return fmt.Errorf("accept connection after %d others: %w", s.connections, errno)
		}
		if err := s.begin(int(fd)); err != nil {
			return err
		}
	}
}

// begin adds a connection. Its request has often arrived with it.
func (s *httpServerLoop) begin(fd int) error {
	id := len(s.conns)
	if n := len(s.free); n > 0 {
		id, s.free = s.free[n-1], s.free[:n-1]
		c := &s.conns[id]
		c.reader.Reset()
		*c = httpFastConn{httpConn: httpConn{reader: c.reader}, fd: fd, pending: c.pending[:0]}
	} else {
		s.conns = append(s.conns, httpFastConn{httpConn: httpConn{reader: http1.NewRequestReader(int64(s.answers.t.RequestSize))}, fd: fd})
	}
	s.silent++
	if s.silent > s.answers.t.Streams+connection.MaxRefused {
		return connection.TooManySilent(s.silent, s.answers.t.Streams)
	}
	if err := s.advance(id); err != nil {
		return err
	}
	if c := &s.conns[id]; c.fd == fd {
		if s.mayWait() { // see waitFor
			if _, err := s.waits.Of(fd); err != nil { // no other thread waits for it
				return err
			}
		}
		return s.poll.Add(fd, id, socket.PollEdge)
	}
	return nil
}

// end closes a connection.
func (s *httpServerLoop) end(id int) {
	c := &s.conns[id]
	if c.ours && (s.answers.t.reuse || s.closed.MSS == 0) {
		connection.List{socket.FastStream(c.fd)}.FillReport(&s.closed)
	}
	if c.out != nil {
		s.sending--
		c.out = nil
	}
	if !c.settled {
		s.silent--
	}
	socket.CloseNow(c.fd)
	c.fd = -1
	s.free = append(s.free, id)
}

// advance continues with a connection that has an event.
func (s *httpServerLoop) advance(id int) error {
	c := &s.conns[id]
	if c.fd < 0 {
		return nil
	}
	fd := c.fd
	if c.out != nil {
		if err := s.send(id); err != nil {
			return err
		}
	}
	for c.fd == fd && c.out == nil {
		n, err := socket.RecvNow(fd, s.buf)
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return nil
		}
		whole := n == len(s.buf)
		if err := s.arrived(id, n, err); err != nil {
			return err
		}
		c = &s.conns[id]
		if err == nil && n > 0 && !whole && c.lingers == 0 { // what fills less than the buffer was all there is
			return nil
		}
	}
	return nil
}

// arrived handles n bytes in buf, or the end of a connection.
func (s *httpServerLoop) arrived(id, n int, err error) error {
	c := &s.conns[id]
	switch {
	case err != nil || n == 0:
		if !c.settled {
			s.refused++
		}
		s.end(id)
		return s.tooManyRefused()
	case c.lingers > 0:
		if c.lingers -= n; c.lingers <= 0 {
			s.end(id)
		}
		return nil
	}
	return s.read(id, s.buf[:n])
}

// read reads a request from b and answers it when it is complete. What follows it in b waits for the answer to be sent.
func (s *httpServerLoop) read(id int, b []byte) error {
	c := &s.conns[id]
	n, done, err := c.reader.Read(b)
	c.bytes += int64(n)
	if err != nil {
		return s.refuse(id, refusalOf(err))
	}
	if c.reader.TakeExpects() {
		_, _ = socket.SendNow(c.fd, []byte(http1.Continue)) // a client that does not get it sends the body all the same
	}
	if !done {
		return nil
	}
	out, refused := s.answers.of(&c.httpConn)
	if refused != nil {
		return s.refuse(id, refused)
	}
	if !c.ours {
		c.ours, c.settled = true, true
		s.silent--
		s.connections++
	}
	s.countForwarded(&s.answers.t, c.reader.Head())
	s.received += c.bytes
	c.bytes, c.out, c.sent = 0, out, 0
	s.sending++
	if rest := b[n:]; len(rest) > 0 {
		c.pending = append(c.pending[:0], rest...)
	}
	return s.send(id)
}

// send sends as much of a response as possible, and continues with the next request when it is sent.
func (s *httpServerLoop) send(id int) error {
	c := &s.conns[id]
	for c.sent < c.out.size {
		n, err := socket.SendNow(c.fd, c.out.after(c.sent))
		if err == socket.ErrAgain { //nolint:errorlint // returned unwrapped, in the hot loop
			return nil
		}
		if err != nil {
			s.end(id)
			if _, counted := connection.FailureOf(err); counted { // by the client
				return nil
			}
			return fmt.Errorf("send response after %d others: %w", s.messages, err)
		}
		c.sent += n
		s.sent += int64(n)
	}
	s.messages++
	s.sending--
	c.out = nil
	if c.closes {
		s.end(id)
		return nil
	}
	if len(c.pending) > 0 {
		b := slices.Clone(c.pending)
		c.pending = c.pending[:0]
		return s.read(id, b)
	}
	return nil
}

// refuse answers a request that is not of the trial, or none, and ends the connection when the peer has read the answer:
// if it were closed with unread data, the answer could be lost (RFC 9112, 9.6).
func (s *httpServerLoop) refuse(id int, answer []byte) error {
	c := &s.conns[id]
	_, err := socket.SendNow(c.fd, answer)
	if !c.settled {
		c.settled = true
		s.silent--
		s.refused++
	}
	if err != nil || unix.Shutdown(c.fd, unix.SHUT_WR) != nil {
		s.end(id)
	} else {
		c.lingers = maxLinger
	}
	return s.tooManyRefused()
}
