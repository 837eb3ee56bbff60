package agent

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/traffic/http1"
)

// A probe over http is a request with a tag that the token gives, and its response with another. The body of the
// X
// The header fields of a response with what the server saw.
const (
	seenField      = "Tare-Seen"
	forwardedField = "Tare-Forwarded"
)

// maxHTTPProbe bounds the body of a message, in bytes. One that a proxy answers by itself may have a page of errors.
const maxHTTPProbe = 64 << 10

// forwardedFor is the header field in which proxies name the client whose request they forward.
const forwardedFor = "X-Forwarded-For"

// openHTTPProbePort is openProbePort for http. Requests without the tag are refused.
func openHTTPProbePort(ctx context.Context, k *wire.Probe) (port uint16, answer func() probeResult, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", k.Address)
	if err != nil {
		return 0, nil, err
	}
	return portOf(l.Addr()), func() probeResult { return answerHTTPProbes(ctx, l, k.Token) }, nil
}

// answerHTTPProbes answers probes until the context ends.
func answerHTTPProbes(ctx context.Context, l net.Listener, token string) probeResult {
	var answered atomic.Bool
	var refused atomic.Int64
	var open sync.WaitGroup
	closed := closeAtEnd(ctx, func() { l.Close() })
	slots := make(chan struct{}, maxProbeConns)
	for {
		conn, err := l.Accept()
		if err != nil {
			closed()
			open.Wait()
			if ctx.Err() == nil {
				return probeResult{int(refused.Load()), err}
			}
			return probeResult{int(refused.Load()), unlessAnswered(ctx, answered.Load())}
		}
		slots <- struct{}{}
		open.Go(func() {
			defer func() { <-slots }()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			_ = conn.SetDeadline(time.Now().Add(maxProbeTimeout())) // TCP has deadlines
			switch ours, err := answerHTTP(conn, token); {
			case !ours:
				refused.Add(1)
			case err == nil:
				answered.Store(true)
				_, _ = io.Copy(io.Discard, conn) // the peer closes first, so that this port is not left in TIME_WAIT
			}
		})
	}
}

// answerHTTP answers the first request of a connection if it has the tag of the token.
func answerHTTP(conn net.Conn, token string) (ours bool, err error) {
	r := http1.NewRequestReader(maxHTTPProbe)
	if err := readHTTP(conn, r); err != nil {
		return false, err
	}
	tag, _ := r.Head().Field(http1.TagField)
	if subtle.ConstantTimeCompare(tag, []byte(http1.RequestTag(token))) != 1 {
		return false, nil
	}
	by, _ := r.Head().Field(forwardedFor)
	_, err = conn.Write(http1.Response{Status: http1.StatusOK, Close: true, Fields: []http1.Field{
		{Name: "Cache-Control", Value: "no-store"}, {Name: http1.TagField, Value: http1.ResponseTag(token)},
		{Name: seenField, Value: conn.RemoteAddr().String()}, {Name: forwardedField, Value: string(by)},
	}}.Append(nil))
	return true, err
}

// askHTTP sends the request of a probe, and reads what the server saw of it.
func askHTTP(conn net.Conn, k *wire.Probe) error {
	q := http1.Request{Method: "GET", Target: "/", Host: k.Host, Fields: []http1.Field{
		{Name: "User-Agent", Value: "tare"}, {Name: "Accept-Encoding", Value: "identity"}, {Name: "Connection", Value: "close"},
		{Name: http1.TagField, Value: http1.RequestTag(k.Token)},
	}}
	if _, err := conn.Write(q.Append(nil)); err != nil {
		return err
	}
	r := http1.NewResponseReader(maxHTTPProbe)
	if err := readHTTP(conn, r); err != nil {
		return err
	}
	h := r.Head()
	switch {
	case h.Status != http1.StatusOK:
		return fmt.Errorf("a request for host %s is answered with status %s", k.Host, http1.Status(h.Status))
	case !h.Is(http1.TagField, http1.ResponseTag(k.Token)):
		return fmt.Errorf("a request for host %s is answered with status %s, and not by its server", k.Host, http1.Status(h.Status))
	}
	seen, _ := h.Field(seenField)
	by, _ := h.Field(forwardedField)
	k.Seen, k.Forwarded = string(seen), string(by)
	return nil
}

// readHTTP reads a message.
func readHTTP(conn net.Conn, r *http1.Reader) error {
	buf := make([]byte, maxHTTPProbe)
	for {
		n, err := conn.Read(buf)
		_, done, bad := r.Read(buf[:n])
		if bad == nil && !done && err != nil {
			done, bad = r.Close()
		}
		switch {
		case done || bad != nil:
			return bad
		case err != nil:
			return err
		}
	}
}
