package web

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/secure"
	"tare/internal/traffic/socket"
)

// httpServer is the listening endpoint.
type httpServer struct {
	socket.Listener
	serve func(context.Context, socket.Listener, httpTrial) (httpServed, error)
	t     httpTrial
}

// httpServed is what a server counted. Bytes are those of the trial's requests and responses.
type httpServed struct {
	connections    int64 // with a request of the trial
	messages       int64 // responses sent
	received, sent int64
	forwarded      int64          // requests with the header field of a proxy
	refused        int            // connections whose first request is not of the trial, or that sent none
	closed         traffic.Report // what the kernel counted for closed connections
	raw            secure.Bytes   // of the connections in TLS
}

// Serve answers until peer has the client's report. It does not distinguish slices.
func (s *httpServer) Serve(ctx context.Context, peer traffic.Peer) (traffic.Report, error) {
	defer s.t.prepare()()
	defer s.Close()
	start, kernel := clock.Now(), connection.ReadKernel()
	ctx, end := exchange.UntilReported(ctx, peer)
	defer end()
	n, err := s.serve(ctx, s.Listener, s.t)
	if err != nil {
		return traffic.Report{}, connection.TooManyFiles(err, s.t.Params)
	}
	for {
		c, err := s.AcceptNow()
		if err != nil {
			break
		}
		c.Close()
		n.refused++
	}
	r := n.closed
	r.Traffic, r.Messages, r.Connections, r.Refused = start.Since().Seconds(), n.messages, int(n.connections), n.refused
	r.CPU, r.Sent, r.Received = s.t.Pinned(), n.sent, n.received
	r.Together, r.Content, r.Forwarded = s.t.together(), contentOf(n.messages, s.t.RequestSize), n.forwarded
	// A proxy may end connections that the client would keep, and the kernel has then not sent all when they are closed.
	if ended := n.connections > int64(s.t.Streams); !s.t.reuse || ended {
		if ended {
			r.TCP.Wire, r.TCP.Segments = 0, 0
		}
		s.t.estimate(&r, n.connections, n.messages, connection.ReadKernel().Retransmits-kernel.Retransmits, n.raw)
	}
	return r, nil
}

// httpConn is a connection at the server.
type httpConn struct {
	reader *http1.Reader
	bytes  int64 // of the current request
	ours   bool  // it had a request of the trial
	closes bool  // it ends with the response
}

// maxLinger is how many bytes are discarded after a refusal, so that the peer reads it before its connection ends.
const maxLinger = 1 << 20

// countForwarded counts a request that a proxy forwarded, where one is to.
func (n *httpServed) countForwarded(t *httpTrial, h *http1.Head) {
	if t.Host == "" {
		return
	}
	if _, found := h.Field(http1.ForwardedFor); found {
		n.forwarded++
	}
}

// httpAnswers makes the responses of a server, anew each second. It may be used by one goroutine; the responses by several.
type httpAnswers struct {
	t          httpTrial
	second     int64      // that the responses are of
	keep, last []outgoing // by size; last is for a connection that ends
}

// refusal is the response to a request that is not answered as those of the trial are. The connection ends with it.
func refusal(status int, text string) []byte {
	text += "\n"
	b := http1.Response{Status: status, Body: int64(len(text)), Close: true, Fields: []http1.Field{
		{Name: "Date", Value: time.Now().UTC().Format(http1.TimeFormat)}, {Name: "Content-Type", Value: "text/plain; charset=utf-8"},
	}}.Append(nil)
	return append(b, text...)
}

// of returns the response to the complete request of a connection, or the refusal of it.
func (a *httpAnswers) of(c *httpConn) (m *outgoing, refused []byte) {
	h := c.reader.Head()
	tag, _ := h.Field(http1.TagField)
	size := a.t.mix.asked(h.Target)
	switch {
	case subtle.ConstantTimeCompare(tag, []byte(a.t.ask)) != 1:
		return nil, refusal(http1.StatusForbidden, "This port serves a trial of tare, and the request is not of it.")
	case string(h.Method) != "GET" && string(h.Method) != "POST":
		return nil, refusal(http1.StatusNotImplemented, "A trial of tare has only GET and POST.")
	case size < 0:
		return nil, refusal(http1.StatusBadRequest, "The target of the request is no size of the trial.")
	}
	if now := time.Now(); now.Unix() != a.second {
		a.second, a.keep, a.last = now.Unix(), nil, nil // others may still be sending those before
		for i := range a.t.mix.sizes {
			a.keep, a.last = append(a.keep, a.t.response(now, false, i)), append(a.last, a.t.response(now, true, i))
		}
	}
	if c.closes = !h.KeepAlive; c.closes {
		return &a.last[size], nil
	}
	return &a.keep[size], nil
}

// refusalOf is the response to what is no request.
func refusalOf(err error) []byte {
	status, text := http1.StatusBadRequest, err.Error()
	if e, ok := errors.AsType[*http1.Error](err); ok {
		status = e.Status
	}
	return refusal(status, text)
}

// tooManyRefused returns an error if so many peers were refused that something else uses the port.
func (n *httpServed) tooManyRefused() error {
	if n.refused < connection.MaxRefused {
		return nil
	}
	return fmt.Errorf("%d peers connected without the trial's token", n.refused)
}
