package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// listening serves pages until the test ends, and returns its host and port.
func listening(t *testing.T, pages http.Handler) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Listen(ctx, func(h *http.Server) error { return h.Serve(l) }, pages) }()
	t.Cleanup(func() {
		stop()
		must.Do(t, <-ended)
	})
	return l.Addr().String()
}

// request opens a connection and sends something.
func request(t *testing.T, at, text string) net.Conn {
	t.Helper()
	c := must.Get(net.Dial("tcp", at))(t)
	t.Cleanup(func() { c.Close() })
	must.Get(io.WriteString(c, text))(t)
	must.Do(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	return c
}

// answer reads the code of an answer.
func answer(t *testing.T, c net.Conn) int {
	t.Helper()
	resp := must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
	defer resp.Body.Close()
	return resp.StatusCode
}

// past reads a line that is as given, and all before it.
func past(t *testing.T, in *bufio.Reader, end string) {
	t.Helper()
	for line := ""; line != end; {
		line = must.Get(in.ReadString('\n'))(t)
	}
}

// get is a request for a page with the cookie.
func get(s Server, path string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: %s=%s\r\n\r\n", path, s.cookie().Name, s.cookie().Value)
}

// Connections that never complete a request do not keep others out: with too many, the oldest is
// closed, and one with an admitted request stays.
func TestHeldConnections(t *testing.T) {
	s, now := site(t, testToken)
	at := listening(t, s.Handler())
	watching := bufio.NewReader(request(t, at, get(s, "/events/now")))
	past(t, watching, "\r\n")
	first := request(t, at, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
	for i := range 3 * maxConnections {
		request(t, at, []string{"", "G", "GET / HTTP/1.1\r\nX: "}[i%3])
	}
	if _, err := io.ReadAll(first); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the oldest connection without a request is still open")
	}
	if code := answer(t, request(t, at, get(s, "/"))); code != 200 {
		t.Fatalf("a page behind %d held connections: code %d", 3*maxConnections, code)
	}
	append1(t, now, 2, 9e9)
	for line := ""; !strings.Contains(line, "2 ok"); {
		line = must.Get(watching.ReadString('\n'))(t)
	}
}

// A browser that stops receiving ends its request, also that of a page that watches a run.
func TestStalledReader(t *testing.T) {
	s, _ := site(t, testToken)
	s.WriteTimeout = 100 * time.Millisecond
	large := strings.Repeat("x", 300)
	s.Load = func(dir string) (report.Input, error) {
		in := report.Input{Run: result.Run{Schema: result.Schema, ID: "d0d0", Cells: []result.Cell{{Workload: "tcp_stream", Metric: "goodput"}}}}
		for i := range 60000 { // more than the buffers of two sockets
			in.Run.Modes = append(in.Run.Modes, result.Mode{ID: fmt.Sprint(large, i)})
		}
		return in, nil
	}
	handler, done := s.Handler(), make(chan string, 2)
	at := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		done <- r.URL.Path
	}))
	for _, path := range []string{"/events/now", "/run/now"} {
		request(t, at, get(s, path)) // and reads nothing
		select {
		case got := <-done:
			must.EqualFor(t, "the request for", path, got)
		case <-time.After(time.Minute):
			t.Fatalf("%s: the request still waits for a browser that reads nothing", path)
		}
	}
}

// A request with a body is refused without waiting for the body.
func TestBodyIsRefused(t *testing.T) {
	s, _ := site(t, "")
	at := listening(t, s.Handler())
	must.EqualFor(t, "HTTP code", 400, answer(t, request(t, at, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nx")))
}

// No line end in foreign text begins another field or event.
func TestEventCannotBeForged(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n", "\n\r", "\r\r", "\n\n"} {
		got := event("trouble", "read a"+end+"event: ended"+end+"data: x"+end+end+"b"+end)
		body, ok := strings.CutSuffix(got, "\n\n")
		must.Require(t, ok, "%q does not end", got)
		for i, line := range strings.FieldsFunc(body, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if want := map[bool]string{true: "event: trouble", false: "data: "}[i == 0]; !strings.HasPrefix(line, want) {
				t.Errorf("with %q: the line %q", end, line)
			}
		}
		must.True(t, !strings.Contains(body, "\n\n") && !strings.Contains(body, "\r"), "with %q: an event ends within %q", end, body)
	}
}

// The directory of a run under way may have any name: what the server sends of it stays one event.
func TestHostileNameOfWatchedRun(t *testing.T) {
	s, now := site(t, "")
	evil := filepath.Join(s.Runs, "a\revent: ended\rdata: x\r\rb")
	if err := os.Rename(now.Path(), evil); err != nil {
		testneed.Missing(t, testneed.Other, err)
	}
	s.Load = func(dir string) (report.Input, error) { return report.Input{}, fmt.Errorf("read %s: no run", dir) }
	at := listening(t, s.Handler())
	in := bufio.NewReader(request(t, at, get(s, "/events/a%0Devent:%20ended%0Ddata:%20x%0D%0Db")))
	past(t, in, "\r\n")
	if size, err := in.ReadString('\n'); err != nil || size == "" { // of the chunk
		t.Fatal(err)
	}
	got := next(t, in)
	must.True(t, strings.HasPrefix(got, "event: trouble\n") && !strings.Contains(got, "\r") && strings.Count(got, "event: ") == strings.Count(got, "data: event: ")+1, "it sent %q", got)
}
