package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tare/internal/timelimit"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/secure"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// requestHTTPPortable returns a function that runs each flow in its own goroutine, with connections of an
// implementation. The first one that fails ends the others.
func requestHTTPPortable(over socket.TCP) func(context.Context, *httpWindow) error {
	return func(ctx context.Context, w *httpWindow) error {
		ctx, fail := context.WithCancelCause(ctx)
		defer fail(nil)
		start := w.Begin()
		return exchange.FirstOf(ctx, exchange.EachFlow(w.Params, func(i int) error {
			err := requestHTTPFlow(ctx, over, w, &w.flows[i], start)
			if err != nil {
				fail(err)
			}
			return err
		}))
	}
}

func requestHTTPFlow(ctx context.Context, over socket.TCP, w *httpWindow, f *httpFlow, start clock.Instant) error {
	slot, limit := w.FirstSlot(f.no)
	if w.Open() {
		exchange.PrepareDue(w.Params)
	}
	buf := make([]byte, httpBuffer)
	at := time.Duration(0)
	for {
		if w.Open() {
			if slot >= limit || at > w.LastSend() {
				w.Mu.Lock()
				defer w.Mu.Unlock()
				w.SkipSlots(f.no, slot, limit)
				return nil
			}
			f.from = w.Schedule.Due(slot)
			slot += uint64(w.Params.Streams)
			for w.Params.Spins() && start.Since() < f.from && ctx.Err() == nil {
				thread.Yield()
			}
			if err := exchange.PauseUntilDue(ctx, f.from-start.Since()); err != nil {
				return err
			}
		} else if f.from = at; f.from >= w.Bins.End {
			return nil
		}
		err := exchangeHTTP(ctx, over, w, f, buf, start)
		if ctx.Err() != nil {
			return exchange.FirstOf(ctx, context.Cause(ctx))
		}
		w.Mu.Lock()
		if !w.keeps(f) {
			w.drop(f)
		}
		at = start.Since()
		if err == nil {
			w.done(f, cmp.Or(f.whole, at))
		} else {
			err = w.fail(err, f.bytes > 0, f.from, at)
		}
		w.Mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// exchangeHTTP runs one exchange of a flow, on its connection or on a new one.
func exchangeHTTP(ctx context.Context, over socket.TCP, w *httpWindow, f *httpFlow, buf []byte, start clock.Instant) error {
	w.Mu.Lock()
	made := w.made
	w.choose(f)
	w.Mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, connection.ReplyTimeout(), connection.NoReplyError(w.addr, max(made-1, 0)))
	defer cancel()
	f.first, f.whole, f.sent, f.bytes, f.opened = 0, 0, 0, 0, f.stream == nil
	for f.stream == nil {
		began := start.Since()
		s, err := over.DialTCP(ctx, w.addr, connection.Options(w.Params))
		f.connected = start.Since()
		switch {
		case err == nil:
			f.stream = s
			late := connection.Late(f.connected-began, func() int64 { return s.Info().Retransmits })
			w.Mu.Lock()
			w.tried.Open(late)
			w.Mu.Unlock()
			if err := w.secure(ctx, f); err != nil {
				return fmt.Errorf("TLS handshake with %s after %d connections: %w", w.addr, made, err)
			}
		case !connection.NoSourcePort(err):
			w.Mu.Lock()
			w.tried.Open(false)
			w.Mu.Unlock()
			return err
		default:
			w.Mu.Lock()
			w.noPort++
			w.Mu.Unlock()
			if err := exchange.Pause(ctx, connection.PortRetry); err != nil {
				return err
			}
		}
	}
	w.Mu.Lock()
	if f.opened {
		w.made++
	}
	made = w.made
	w.Mu.Unlock()
	if s, ok := f.stream.(*secure.Stream); ok {
		s.Within(ctx)
	}
	err := askHTTP(ctx, w, f, buf, start)
	if err == nil && w.t.secured() && !w.t.reuse {
		f.whole = start.Since()
		readToEnd(ctx, f.stream, buf, maxStrangeBody)
	}
	w.Mu.Lock()
	w.sent += int64(f.sent)
	w.Mu.Unlock()
	if err != nil {
		return fmt.Errorf("exchange with %s after %d connections: %w", w.addr, made, err)
	}
	return nil
}

// secure does the handshake of TLS on the new connection of a flow, in a trial that has it. A failure ends the connection.
func (w *httpWindow) secure(ctx context.Context, f *httpFlow) error {
	if !w.t.secured() {
		return nil
	}
	s, err := w.t.client.Open(ctx, f.stream)
	if err != nil {
		f.stream.Close()
		f.stream = nil
		return err
	}
	f.stream = s
	if s.Resumed() {
		w.Mu.Lock()
		w.resumed++
		w.Mu.Unlock()
	}
	return nil
}

// readToEnd reads and discards what the peer still sends before it ends the connection, at most that many bytes.
func readToEnd(ctx context.Context, c socket.Stream, buf []byte, most int) {
	for left := most; left > 0 && ctx.Err() == nil; {
		n, err := c.Read(buf)
		if n == 0 && err == nil || err != nil && !socket.IsAgain(err) {
			return
		}
		left -= n
	}
}

// askHTTP sends the request of a flow and receives the response. A server may answer before it has the whole request.
func askHTTP(ctx context.Context, w *httpWindow, f *httpFlow, buf []byte, start clock.Instant) error {
	var failed error
	for f.sent < f.ask.size && failed == nil {
		n, err := f.stream.Write(f.ask.after(f.sent))
		f.sent += n
		if err != nil && !socket.IsAgain(err) {
			failed = err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	for {
		n, err := f.stream.Read(buf)
		var done bool
		switch {
		case socket.IsAgain(err) && ctx.Err() != nil:
			return context.Cause(ctx)
		case socket.IsAgain(err):
			continue
		case err != nil:
		case n == 0:
			done, err = w.ended(f)
		default:
			done, err = w.took(f, buf[:n], start.Since())
		}
		if err != nil && failed != nil && !f.answered() {
			err = failed
		}
		if err == nil && !done && ctx.Err() != nil { // while parts of the response arrive
			return context.Cause(ctx)
		}
		if done || err != nil {
			return err
		}
	}
}

// lingerTimeout is how long a server waits for the peer to read a refusal.
func lingerTimeout() time.Duration { return timelimit.Scaled(time.Second) }

// serveHTTPPortable serves each connection on a thread or goroutine of its own.
func serveHTTPPortable(ctx context.Context, l socket.Listener, t httpTrial) (httpServed, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &httpPortable{answers: httpAnswers{t: t}, end: end}
	return s.run(ctx, l, s.serve)
}

// run serves each connection by a function, on a thread or goroutine of its own.
func (s *httpPortable) run(ctx context.Context, l socket.Listener, serve func(context.Context, socket.Stream, []byte) error) (httpServed, error) {
	t, end := s.answers.t, s.end
	all := newWorkers(t.Params, end)
	if err := all.run(func([]byte) error { return s.accept(ctx, l, all, serve) }); err != nil {
		end(err)
	}
	all.stop()
	if err := context.Cause(ctx); !errors.Is(err, exchange.ErrClientEnded) {
		return s.httpServed, err
	}
	return s.httpServed, nil
}

// accept accepts connections until the trial ends.
func (s *httpPortable) accept(ctx context.Context, l socket.Listener, all *workers, serve func(context.Context, socket.Stream, []byte) error) error {
	for ctx.Err() == nil {
		c, err := l.Accept(nil)
		if socket.IsAgain(err) {
			continue
		}
		if err != nil {
			s.end(fmt.Errorf("accept connection: %w", err))
			break
		}
		s.mu.Lock()
		s.silent++
		if t := s.answers.t; s.silent > t.Streams+connection.MaxRefused {
			s.end(connection.TooManySilent(s.silent, t.Streams))
		}
		s.mu.Unlock()
		all.do(func(buf []byte) error { return serve(ctx, c, buf) })
	}
	return nil
}

// httpPortable is the server of goroutines.
type httpPortable struct {
	httpServed
	answers httpAnswers
	mu      sync.Mutex
	silent  int // connections without a request of the trial
	end     context.CancelCauseFunc
}

// within returns a connection as its requests are sent, which is in TLS where the trial has it; nil if it is over, because its
// peer left, or does not speak TLS and was told so.
func (s *httpPortable) within(ctx context.Context, c socket.Stream, buf []byte) socket.Stream {
	if !s.answers.t.secured() {
		return c
	}
	in, err := s.answers.t.server.Accept(ctx, c)
	if err == nil {
		return in
	}
	if errors.Is(err, secure.ErrNotTLS) {
		_ = s.refuse(ctx, c, refusal(http1.StatusBadRequest, "This port speaks TLS."), buf) // it may be gone
	}
	return nil
}

// serve answers the requests of a connection until it ends, and closes it. The error is of this host.
func (s *httpPortable) serve(ctx context.Context, c socket.Stream, buf []byte) error {
	h := httpConn{reader: http1.NewRequestReader(int64(s.answers.t.RequestSize))}
	defer func() { s.close(c, h.ours) }()
	in := s.within(ctx, c, buf)
	if in == nil {
		return nil
	}
	c = in
	var linger connection.Linger
	for !linger.Over(ctx) {
		n, err := c.Read(buf)
		switch {
		case socket.IsAgain(err) && ctx.Err() != nil:
			return nil
		case socket.IsAgain(err):
			continue
		case err != nil || n == 0:
			return nil
		}
		for b := buf[:n]; len(b) > 0; {
			n, done, err := h.reader.Read(b)
			h.bytes += int64(n)
			b = b[n:]
			if err != nil {
				return s.refuse(ctx, c, refusalOf(err), buf)
			}
			if h.reader.TakeExpects() {
				_ = connection.WriteFull(ctx, c, []byte(http1.Continue)) // without it the body comes, too
			}
			if !done {
				continue
			}
			s.mu.Lock()
			out, refused := s.answers.of(&h)
			s.mu.Unlock()
			if refused != nil {
				return s.refuse(ctx, c, refused, buf)
			}
			if ended, err := s.respond(ctx, c, &h, out); ended || err != nil {
				return err
			}
		}
	}
	return nil
}

// close closes a connection, which had a request of the trial or not.
func (s *httpPortable) close(c socket.Stream, ours bool) {
	s.mu.Lock()
	if ours && (s.answers.t.reuse || s.closed.MSS == 0) {
		connection.List{c}.FillReport(&s.closed)
	}
	if !ours {
		s.silent--
		s.refused++
		if err := s.tooManyRefused(); err != nil {
			s.end(err)
		}
	}
	s.mu.Unlock()
	c.Close()
	s.mu.Lock()
	s.raw = s.raw.Plus(bytesOf(c))
	s.mu.Unlock()
}

// respond sends a response. ended is true if the connection ends with it.
func (s *httpPortable) respond(ctx context.Context, c socket.Stream, h *httpConn, out *outgoing) (ended bool, err error) {
	s.mu.Lock()
	if !h.ours {
		h.ours = true
		s.silent--
		s.connections++
	}
	s.received += h.bytes
	h.bytes = 0
	s.countForwarded(&s.answers.t, h.reader.Head())
	s.mu.Unlock()
	sent := 0
	for sent < out.size && err == nil {
		var n int
		n, err = c.Write(out.after(sent))
		sent += n
		if socket.IsAgain(err) {
			err = context.Cause(ctx)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent += int64(sent)
	if sent == out.size {
		s.messages++
	}
	if _, counted := connection.FailureOf(err); counted || ctx.Err() != nil { // by the client, or the end of the trial
		return true, nil
	}
	if err != nil {
		return true, fmt.Errorf("send response after %d others: %w", s.messages, err)
	}
	return h.closes, nil
}

// refuse answers what is no request of the trial, and waits until the peer has read the answer: if the connection were
// closed with unread data, the answer could be lost (RFC 9112, 9.6).
func (s *httpPortable) refuse(ctx context.Context, c socket.Stream, answer, buf []byte) error {
	ctx, cancel := context.WithTimeout(ctx, lingerTimeout())
	defer cancel()
	if connection.WriteFull(ctx, c, answer) == nil && c.CloseWrite() == nil {
		readToEnd(ctx, c, buf, maxLinger)
	}
	return nil
}
