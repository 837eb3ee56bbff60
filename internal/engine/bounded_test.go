package engine

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/moby/moby/client"
)

// An engine that answers without end is refused, with what it was asked, whatever it sends and
// however it is reached.
func TestEndlessAnswer(t *testing.T) {
	var sent atomic.Int64
	repeat := func(w io.Writer, start, part string) {
		part = strings.Repeat(part, 1+64<<10/len(part))
		for _, err := io.WriteString(w, start); err == nil; {
			var n int
			n, err = io.WriteString(w, part)
			sent.Add(int64(n))
		}
	}
	bodies := map[string]func(w http.ResponseWriter){
		"one text":     func(w http.ResponseWriter) { repeat(w, `[{"Id":"`, "x") },
		"containers":   func(w http.ResponseWriter) { repeat(w, `[{}`, ",{}") },
		"deep":         func(w http.ResponseWriter) { repeat(w, "", "[") },
		"white space":  func(w http.ResponseWriter) { repeat(w, "", " ") },
		"a header":     func(w http.ResponseWriter) { hijackedHeader(w, repeat) },
		"one of a map": func(w http.ResponseWriter) { repeat(w, `[{"Labels":{"a":""`, `,"b":""`) },
		"compressed": func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			repeat(z, `[{"Id":"`, "x")
		},
	}
	for name, body := range bodies {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/containers/json") {
				body(w)
			}
		})
		for _, network := range []string{"tcp", "unix"} {
			l, host := listenOn(t, network)
			s := &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}} //nolint:gosec // of a test
			s.Start()
			e, err := New("x", Local{}, client.WithHost(host), client.WithAPIVersion(MinAPI))
			if err != nil {
				t.Fatal(err)
			}
			sent.Store(0)
			_, err = e.Leftovers(t.Context(), nil)
			if err == nil || !strings.HasPrefix(err.Error(), "engine x: list its containers: ") || strings.Contains(err.Error(), "\n") || errors.Is(err, ErrGone) {
				t.Errorf("%s over %s: %v", name, network, err)
			}
			if name != "compressed" && name != "a header" && name != "deep" && !errors.Is(err, errAnswer) {
				t.Errorf("%s over %s: %v, want %v", name, network, err, errAnswer)
			}
			_ = e.Disconnect()
			s.CloseClientConnections()
			s.Close()
			if n := sent.Load(); name != "compressed" && n > 32<<20 {
				t.Errorf("%s over %s: %d bytes were taken", name, network, n)
			}
		}
	}
}

// hijackedHeader answers with a header that does not end.
func hijackedHeader(w http.ResponseWriter, repeat func(w io.Writer, start, part string)) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		repeat(conn, "HTTP/1.1 200 OK\r\nX: ", "x")
		conn.Close()
	}
}

// listenOn listens and returns the address for DOCKER_HOST.
func listenOn(t *testing.T, network string) (net.Listener, string) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "engine.sock")
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	return l, network + "://" + l.Addr().String()
}

// An answer below the limits arrives, several on one connection too.
func TestAnswerBelowTheLimit(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := "[]"
		if strings.HasSuffix(r.URL.Path, "/containers/json") {
			text = `[{"Id":"` + strings.Repeat("x", maxAnswer/2) + `"}]`
		}
		_, _ = io.WriteString(w, text)
	}))
	defer s.Close()
	e, err := New("x", Local{}, client.WithHost("tcp://"+s.Listener.Addr().String()), client.WithAPIVersion(MinAPI))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Disconnect() }() // it only has idle connections
	for range 4 {
		if _, err := e.Leftovers(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// Output is separated into its streams without holding more of it than a buffer, and ends
// where the connection does.
func TestSeparate(t *testing.T) {
	part := func(stream byte, size uint32, text string) string {
		header := [streamHeader]byte{stream}
		binary.BigEndian.PutUint32(header[4:], size)
		return string(header[:]) + text
	}
	for name, c := range map[string]struct{ in, stdout, stderr, err string }{
		"nothing":         {},
		"both":            {part(1, 3, "out") + part(2, 4, "err\n") + part(1, 1, "!") + part(0, 0, ""), "out!", "err\n", ""},
		"cut in a header": {part(1, 3, "out") + "\x01\x00", "out", "", ""},
		"cut in a part":   {part(2, 1<<32-1, "little"), "", "little", ""},
		"of the engine":   {part(3, 1<<32-1, "it broke"), "", "", "error from the engine in the stream: it broke"},
		"unknown":         {part(9, 1, "x"), "", "", "unknown stream 9 in the output"},
	} {
		var out, words bytes.Buffer
		err := separate(&out, &words, iotest.OneByteReader(strings.NewReader(c.in)))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if out.String() != c.stdout || words.String() != c.stderr || text != c.err {
			t.Errorf("%s: %q, %q, %v", name, out.String(), words.String(), err)
		}
	}
	broken := errors.New("broken")
	if err := separate(io.Discard, io.Discard, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	if n := testing.AllocsPerRun(1, func() {
		if err := separate(io.Discard, io.Discard, strings.NewReader(part(1, 1<<31, "x"))); err != nil {
			t.Error(err)
		}
	}); n > 20 {
		t.Errorf("%g allocations", n)
	}
}
