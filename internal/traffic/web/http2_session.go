package web

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/http2"
	"tare/internal/traffic/socket"
)

// http2Session is the client of HTTP/2, which measures the time. Its flows are the streams: flow i is one of connection i modulo
// the number of connections, so that a schedule uses all of them in turn.
type http2Session struct {
	*httpSession
	net   socket.TCP
	ask   *http2.Message
	conns []*http2Conn
}

// http2Threads is how many threads a connection of the client has at most: one reads, one keeps the schedule, and one sends what
// the first two must not wait for.
const http2Threads = 3

// mostAtOnce is how many bytes of requests the thread that reads sends itself. What is larger may wait for the server to read, and the
// server for the client.
const mostAtOnce = 8 << 10

func newHTTP2Session(over socket.TCP, t httpTrial, addr netip.AddrPort) *http2Session {
	s := &http2Session{httpSession: newHTTPSession(t, addr), net: over, ask: t.request2(addr)}
	s.request = s.run2
	_, body := t.framed(t.RequestSize)
	for i := range t.connections {
		c := &http2Conn{s: s, no: i, buf: make([]byte, httpBuffer), apart: body*t.together() > mostAtOnce, on: make([]*http2.Stream, t.Streams)}
		c.changed.L = &c.mu
		s.conns = append(s.conns, c)
	}
	return s
}

// run2 runs the exchanges of a window on all connections. The first one that fails ends the others.
func (s *http2Session) run2(ctx context.Context, w *httpWindow) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	start := w.Begin()
	var roles []func() error
	for _, c := range s.conns {
		c.begin(ctx, w, start)
		roles = append(roles, c.read)
		if w.Open() {
			roles = append(roles, c.keepSchedule)
		}
		if c.apart {
			roles = append(roles, c.sendApart)
		}
	}
	stop := context.AfterFunc(ctx, func() {
		for _, c := range s.conns {
			c.mu.Lock()
			c.changed.Broadcast()
			c.mu.Unlock()
		}
	})
	defer stop()
	threads := w.Params
	threads.Streams = len(roles)
	return exchange.FirstOf(ctx, exchange.EachFlow(threads, func(i int) error {
		err := roles[i]()
		if err != nil {
			fail(err)
		}
		return err
	}))
}

// RTT is the least round trip of a connection, to the next hop that ends connections: a proxy, or the server.
func (s *http2Session) RTT() time.Duration {
	for _, c := range s.conns {
		if c.stream != nil {
			return connection.List{c.stream}.LeastRTT()
		}
	}
	return s.rtt
}

// Close ends the trial and reports on all of it.
func (s *http2Session) Close() traffic.Report {
	for _, c := range s.conns {
		c.close()
	}
	r := s.httpSession.Close()
	w := &r.Window
	if s.total > 0 {
		w.Sent = int64(float64(s.sent) * float64(w.Messages) / float64(s.total))
	}
	each := make([]int64, len(s.conns)) // by connection, as a flow is
	for i, n := range w.Streams {
		each[i%len(each)] += n
	}
	w.Streams = each
	return r
}

// close closes a connection, if it is open.
func (c *http2Conn) close() {
	if c.stream == nil {
		return
	}
	s := c.s
	connection.List{c.stream}.FillReport(&s.closed)
	s.rtt = connection.List{c.stream}.LeastRTT()
	c.stream.Close()
	s.raw = s.raw.Plus(bytesOf(c.stream))
	n := c.conn.Bytes()
	s.sent, s.received = s.sent+n.Sent, s.received+n.Received
	c.stream, c.conn = nil, nil
}

// open opens a connection and waits until the server has shown that it speaks HTTP/2.
func (c *http2Conn) open() error {
	s, made := c.s, c.made()
	ctx, cancel := context.WithTimeoutCause(c.ctx, connection.ReplyTimeout(), connection.NoReplyError(s.addr, made))
	defer cancel()
	stream, err := c.dial(ctx)
	if err != nil {
		return err
	}
	conn := http2.NewClient(http2.Options{MaxBody: int64(s.t.ResponseSize) + maxStrangeBody, Parts: s.t.inParts()}, c)
	if err := agree2(ctx, stream, conn, c.buf, s.t.together()); err != nil {
		stream.Close()
		return fmt.Errorf("begin HTTP/2 with %s after %d connections: %w", s.addr, made, err)
	}
	c.w.Mu.Lock()
	c.w.made++
	c.w.Mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stream, c.conn, c.heard, c.answered, c.failed = stream, conn, c.start.Since(), 0, nil
	c.bound()
	return nil
}

// dial opens a connection, in TLS if the trial has it. It waits while no source port is free.
func (c *http2Conn) dial(ctx context.Context) (socket.Stream, error) {
	s, w := c.s, c.w
	for {
		began := clock.Now()
		stream, err := s.net.DialTCP(ctx, s.addr, connection.Options(w.Params))
		if err == nil {
			late := connection.Late(began.Since(), func() int64 { return stream.Info().Retransmits })
			w.Mu.Lock()
			w.tried.Open(late)
			w.Mu.Unlock()
			if s.t.client == nil {
				return stream, nil
			}
			in, err := s.t.client.Open(ctx, stream)
			if err != nil {
				stream.Close()
				return nil, fmt.Errorf("TLS handshake with %s after %d connections: %w", s.addr, c.made(), err)
			}
			return in, nil
		}
		w.Mu.Lock()
		if !connection.NoSourcePort(err) {
			w.tried.Open(false)
			w.Mu.Unlock()
			return nil, err
		}
		w.noPort++
		w.Mu.Unlock()
		if err := exchange.Pause(ctx, connection.PortRetry); err != nil {
			return nil, err
		}
	}
}

// agree2 sends the settings of a connection and waits for those of the server, which must allow that many requests at once.
func agree2(ctx context.Context, stream socket.Stream, conn *http2.Conn, buf []byte, streams int) error {
	for !conn.Settled() {
		if err := connection.WriteFull(ctx, stream, conn.Pending()); err != nil {
			return err
		}
		conn.Wrote(len(conn.Pending()))
		n, err := stream.Read(buf)
		switch {
		case socket.IsAgain(err) && ctx.Err() != nil:
			return context.Cause(ctx)
		case socket.IsAgain(err):
			continue
		case err != nil:
			return err
		case n == 0:
			return connection.ErrPeerClosed
		}
		if err := conn.Read(buf[:n]); err != nil {
			return err
		}
	}
	switch gone := conn.Gone(); {
	case gone != nil:
		return gone
	case conn.MaxStreams() < streams:
		return &answerError{httpOther, fmt.Sprintf("the server, or a proxy before it, allows %d requests at once on a connection; use streams: %d", conn.MaxStreams(), conn.MaxStreams())}
	}
	return nil
}
