package agent

import (
	"cmp"
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/traffic/admission"
	"tare/internal/traffic/http1"
)

// A probe over HTTP is a request with a tag that the token gives, and its response with another. The header fields of the response have what
// the server saw: the address of its peer, and who the proxy says has sent the request.
const (
	seenField      = "Tare-Seen"
	forwardedField = "Tare-Forwarded"
)

// maxHTTPProbe bounds the body of a message, in bytes. One that a proxy answers by itself may have a page of errors.
const maxHTTPProbe = 64 << 10

// answerHTTPProbe answers the first request of a connection if it has the tag of the token.
func answerHTTPProbe(token string) responder {
	return func(ctx context.Context, conn admission.Stream) (ours, answered bool) {
		defer conn.Close()
		until := time.Now().Add(maxProbeTimeout())
		r := http1.NewRequestReader(maxHTTPProbe)
		if readHTTP(conn, r, until) != nil {
			return false, false
		}
		tag, _ := r.Head().Field(http1.TagField)
		if subtle.ConstantTimeCompare(tag, []byte(http1.RequestTag(token))) != 1 {
			return false, false
		}
		by, _ := r.Head().Field(http1.ForwardedFor)
		_, err := conn.Write(http1.Response{Status: http1.StatusOK, Close: true, Fields: []http1.Field{
			{Name: "Cache-Control", Value: "no-store"}, {Name: http1.TagField, Value: http1.ResponseTag(token)},
			{Name: seenField, Value: conn.Peer().String()}, {Name: forwardedField, Value: string(by)},
		}}.Append(nil))
		if err != nil {
			return true, false
		}
		awaitEnd(ctx, conn, until)
		return true, true
	}
}

// askHTTP sends the request of a probe, and reads what the server saw of it.
func askHTTP(conn net.Conn, k *wire.Probe, until time.Time) error {
	q := http1.Request{Method: "GET", Target: "/", Host: k.Host, Fields: []http1.Field{
		{Name: "User-Agent", Value: "tare"}, {Name: "Accept-Encoding", Value: "identity"}, {Name: "Connection", Value: "close"},
		{Name: http1.TagField, Value: http1.RequestTag(k.Token)},
	}}
	if _, err := conn.Write(q.Append(nil)); err != nil {
		return err
	}
	r := http1.NewResponseReader(maxHTTPProbe)
	if err := readHTTP(conn, r, until); err != nil {
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

// readHTTP reads a message that is whole by a time.
func readHTTP(conn io.Reader, r *http1.Reader, until time.Time) error {
	for buf := make([]byte, 4<<10); ; {
		n, err := conn.Read(buf)
		_, done, bad := r.Read(buf[:n])
		switch {
		case done || bad != nil:
			return bad
		case n == 0 && err == nil:
			err = io.EOF // so the end of an admission.Stream
		case err == nil || admission.IsAgain(err):
			if time.Now().Before(until) {
				continue
			}
			err = cmp.Or(err, os.ErrDeadlineExceeded)
		}
		if done, bad = r.Close(); done || bad != nil {
			return bad
		}
		return err
	}
}
