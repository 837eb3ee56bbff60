package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	gorilla "github.com/gorilla/websocket"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"tare/internal/testkit/must"
)

// streamOf returns the exec stream of a server.
func streamOf(t *testing.T, serve http.HandlerFunc) execStream {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return execStream{&rest.Config{Host: s.URL}, must.Get(url.Parse(s.URL + "/exec"))(t)}
}

// overSocket accepts a WebSocket and calls talk with it, as a kubelet does.
func overSocket(t *testing.T, talk func(*gorilla.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&gorilla.Upgrader{Subprotocols: []string{protocolV5}}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		talk(conn)
	}
}

// sendAll sends messages, each a channel and a text.
func sendAll(conn *gorilla.Conn, messages ...string) {
	for _, m := range messages {
		_ = conn.WriteMessage(gorilla.BinaryMessage, []byte(m))
	}
}

func closeNormally(conn *gorilla.Conn) {
	_ = conn.WriteMessage(gorilla.CloseMessage, gorilla.FormatCloseMessage(gorilla.CloseNormalClosure, ""))
	_, _, _ = conn.ReadMessage()
}

const exited7 = `{"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": [{"reason": "other", "message": "x"}, {"reason": "ExitCode", "message": "7"}]}}`

// Input and output pass whole, each in its stream, and the end of the process is known, over both protocols.
func TestStreams(t *testing.T) {
	words := strings.Repeat("0123456789abcdef", 8<<10)
	socket := overSocket(t, func(conn *gorilla.Conn) {
		var in bytes.Buffer
		for {
			_, message, err := conn.ReadMessage()
			if err != nil || message[0] == closeChannel {
				break
			}
			in.Write(message[1:])
		}
		sendAll(conn, "\x01"+in.String(), "\x02errors", "\xff\x01", "\x09unknown", "\x03"+exited7)
		closeNormally(conn)
	})
	old := func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			http.Error(w, "no WebSockets here", http.StatusBadRequest)
			return
		}
		serveSPDY(t, w, r)
	}
	for name, serve := range map[string]http.HandlerFunc{"WebSocket": socket, "SPDY": old} {
		var out, errs bytes.Buffer
		err := streamOf(t, serve).run(t.Context(), strings.NewReader(words), &out, &errs)
		var exit exitError
		if !errors.As(err, &exit) || exit != 7 || errs.String() != "errors" || out.String() != words {
			t.Errorf("%s: %v, %d bytes, errors %q", name, err, out.Len(), errs.String())
		}
	}
}

// serveSPDY does the same as the WebSocket of TestStreams, over SPDY.
func serveSPDY(t *testing.T, w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{protocolV4}); err != nil {
		t.Error(err)
		return
	}
	made := make(chan httpstream.Stream, 4)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		made <- s
		return nil
	})
	if conn == nil {
		t.Error("no connection")
		return
	}
	defer conn.Close()
	streams := map[string]httpstream.Stream{}
	for len(streams) < 4 {
		s := <-made
		streams[s.Headers().Get("streamType")] = s
	}
	in, _ := io.ReadAll(streams["stdin"])
	for kind, text := range map[string]string{"stdout": string(in), "stderr": "errors", "error": exited7} {
		_, _ = io.WriteString(streams[kind], text)
		streams[kind].Close()
	}
	<-conn.CloseChan()
}

// A stream that ends otherwise is told apart from a process that has exited.
func TestStreamEnds(t *testing.T) {
	for name, c := range map[string]struct {
		talk func(*gorilla.Conn)
		want string // empty for no error
	}{
		"success":   {func(c *gorilla.Conn) { sendAll(c, "\x03"+`{"status": "Success"}`); closeNormally(c) }, ""},
		"no status": {closeNormally, ""},
		"cut":       {func(c *gorilla.Conn) { sendAll(c, "\x03"+`{"status": "Success"}`); c.NetConn().Close() }, "next reader"},
		"a text":    {func(c *gorilla.Conn) { _ = c.WriteMessage(gorilla.TextMessage, []byte("\x01x")); closeNormally(c) }, "unexpected message type: 1"},
		"empty":     {func(c *gorilla.Conn) { sendAll(c, ""); closeNormally(c) }, "read stream id: EOF"},
		"no JSON":   {func(c *gorilla.Conn) { sendAll(c, "\x03<html>"); closeNormally(c) }, "error stream protocol error: invalid character"},
		"a failure": {func(c *gorilla.Conn) {
			sendAll(c, "\x03"+`{"status": "Failure", "message": "pod does not exist"}`)
			closeNormally(c)
		}, "pod does not exist"},
		"no code": {func(c *gorilla.Conn) {
			sendAll(c, "\x03"+`{"status": "Failure", "reason": "NonZeroExitCode"}`)
			closeNormally(c)
		}, "no ExitCode cause given"},
		"a wrong code": {func(c *gorilla.Conn) { sendAll(c, "\x03"+strings.Replace(exited7, `"7"`, `"0"`, 1)); closeNormally(c) }, `invalid exit code value "0"`},
		"no state":     {func(c *gorilla.Conn) { sendAll(c, "\x03{}"); closeNormally(c) }, "unknown error"},
	} {
		err := streamOf(t, overSocket(t, c.talk)).run(t.Context(), &bytes.Buffer{}, io.Discard, io.Discard)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Output that nobody reads any more does not keep the status back, and a silent server not the end of the context.
func TestStreamIsLeft(t *testing.T) {
	read, write := io.Pipe()
	read.Close()
	full := streamOf(t, overSocket(t, func(c *gorilla.Conn) {
		sendAll(c, "\x01"+strings.Repeat("x", 1<<20), "\x03"+exited7)
		closeNormally(c)
	}))
	if err := full.run(t.Context(), &bytes.Buffer{}, write, io.Discard); !errors.Is(err, exitError(7)) {
		t.Errorf("of output that is not read: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent := streamOf(t, overSocket(t, func(c *gorilla.Conn) {
		cancel()
		for {
			if _, _, err := c.ReadMessage(); err != nil {
				return
			}
		}
	}))
	if err := silent.run(ctx, read, io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("of a silent server: %v", err)
	}
}

// FuzzStatus checks that any status of a process is an error of bounded length or none.
func FuzzStatus(f *testing.F) {
	f.Add([]byte(exited7))
	f.Add([]byte(`{"status": "Failure", "message": "container not found"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var exit exitError
		if err := statusOf(text); errors.As(err, &exit) && (exit < 1 || exit > 255) {
			t.Errorf("exit status %d", exit)
		}
	})
}
