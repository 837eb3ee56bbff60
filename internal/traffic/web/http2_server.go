package web

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"tare/internal/traffic/connection"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/http2"
	"tare/internal/traffic/socket"
)

// serveHTTP2 serves each connection of HTTP/2 on a thread or goroutine of its own.
func serveHTTP2(ctx context.Context, l socket.Listener, t httpTrial) (httpServed, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &httpPortable{answers: httpAnswers{t: t}, end: end}
	return s.run(ctx, l, s.serve2)
}

// leastStreams is how many requests at once a server allows at least, as RFC 9113 recommends: a proxy may use one connection for all.
const leastStreams = 100

// http2Served is a connection at the server.
type http2Served struct {
	t      *httpTrial
	conn   *http2.Conn
	ours   bool           // it had a request of the trial
	passed int64          // requests that a proxy forwarded, where one is to
	ends   bool           // a request was refused: the connection ends
	second int64          // that answer is of
	answer *http2.Message // nil for none yet
}

// serve2 answers the requests of a connection until it ends, and closes it. The error is of this host.
func (s *httpPortable) serve2(ctx context.Context, c socket.Stream, buf []byte) error {
	t := &s.answers.t
	h := &http2Served{t: t}
	_, most := t.framed(t.RequestSize)
	h.conn = http2.NewServer(http2.Options{Streams: max(leastStreams, t.Streams), MaxBody: int64(most), Parts: t.streaming}, h)
	defer func() {
		s.mu.Lock()
		if h.ours {
			n := h.conn.Bytes()
			s.messages, s.sent, s.received, s.forwarded = s.messages+h.completed(), s.sent+n.Sent, s.received+n.Received, s.forwarded+h.passed
		}
		s.mu.Unlock()
		s.close(c, h.ours)
	}()
	in := s.within(ctx, c, buf)
	if in == nil {
		return nil
	}
	c = in
	var linger connection.Linger
	for !linger.Over(ctx) {
		if err := h.send(ctx, c); err != nil {
			if _, counted := connection.FailureOf(err); counted || ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("send response after %d others: %w", h.completed(), err)
		}
		if h.ends {
			return s.refuse(ctx, c, nil, buf)
		}
		n, err := c.Read(buf)
		switch {
		case socket.IsAgain(err) && ctx.Err() != nil:
			return nil
		case socket.IsAgain(err):
			continue
		case err != nil || n == 0:
			return nil
		}
		ours := h.ours
		err = h.conn.Read(buf[:n])
		switch {
		case errors.Is(err, http2.ErrNotHTTP2):
			return s.refuse(ctx, c, refusal(http1.StatusBadRequest, "This port speaks HTTP/2 only."), buf)
		case err != nil: // the peer is told
			h.ends = true
		}
		if h.ours && !ours {
			s.mu.Lock()
			s.silent--
			s.connections++
			s.mu.Unlock()
		}
	}
	return nil
}

// completed is how many responses were sent whole.
func (h *http2Served) completed() int64 {
	if h.t.series > 0 {
		return h.conn.Ended()
	}
	return h.conn.Completed()
}

// send sends what there is to send.
func (h *http2Served) send(ctx context.Context, c socket.Stream) error {
	for {
		p := h.conn.Pending()
		if len(p) == 0 {
			return nil
		}
		n, err := c.Write(p)
		h.conn.Wrote(n)
		switch {
		case socket.IsAgain(err) && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !socket.IsAgain(err):
			return err
		}
	}
}

// Begun is of no interest to a server.
func (h *http2Served) Begun(*http2.Stream) {}

// Lost ends a connection whose request is malformed. A client may reset its own.
func (h *http2Served) Lost(_ *http2.Stream, err error) {
	if reset, ok := errors.AsType[*http2.ResetError](err); ok && reset.Ours != "" && !h.ends {
		h.ends = true
		h.conn.GoAway(http2.ProtocolError)
	}
}

// goesOn is the lane of a stream on which messages were answered.
const goesOn = 1

// Message answers a request, or refuses it. It ends a call that goes on.
func (h *http2Served) Message(s *http2.Stream) {
	switch {
	case h.ends:
	case s.Lane == goesOn:
		h.conn.End(s)
	default:
		h.respond(s)
	}
}

// Part answers a message of a call that goes on; the first as a request.
func (h *http2Served) Part(s *http2.Stream) {
	switch {
	case h.ends:
	case s.Lane == goesOn:
		h.conn.Send(s, h.response())
	default:
		s.Lane = goesOn
		h.respond(s)
	}
}

// forwardedForLower is http1.ForwardedFor in HTTP/2, where names are in lower case.
const forwardedForLower = "x-forwarded-for"

// respond answers a request, or refuses it.
func (h *http2Served) respond(s *http2.Stream) {
	tag, _ := s.Head.Field(tagField)
	kind, _ := s.Head.Field("content-type")
	refused := ""
	switch {
	case subtle.ConstantTimeCompare([]byte(tag), []byte(h.t.ask)) != 1:
		refused = "403 This port serves a trial of tare, and the request is not of it."
	case h.t.grpc && (s.Head.Method != "POST" || !strings.HasPrefix(kind, "application/grpc")):
		refused = "415 A trial of tare with gRPC has only calls of it."
	case h.t.grpc && s.Lane != goesOn && !isFramed(s.Start, s.Body):
		refused = "400 The message of the call is compressed, or not as long as it says."
	case s.Head.Method != "GET" && s.Head.Method != "POST":
		refused = "501 A trial of tare has only GET and POST."
	}
	if refused != "" {
		h.ends = true
		h.conn.Refuse(s, refused[:3], refused[4:])
		h.conn.GoAway(http2.NoError)
		return
	}
	h.ours = true
	if h.t.Host != "" {
		if _, found := s.Head.Field(forwardedForLower); found {
			h.passed++
		}
	}
	h.conn.Respond(s, h.response())
	if h.t.series > 0 {
		for range h.t.series - 1 {
			h.conn.Send(s, h.response())
		}
		h.conn.End(s)
	}
}

// response returns the response to a request, recreated each second.
func (h *http2Served) response() *http2.Message {
	if now := time.Now(); h.answer == nil || now.Unix() != h.second {
		h.second, h.answer = now.Unix(), h.t.response2(now)
	}
	return h.answer
}
