package engine

import (
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/moby/moby/client"

	"tare/internal/must"
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
			must.Do(t, err)
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
	l := must.Get(net.Listen(network, addr))(t)
	return l, network + "://" + l.Addr().String()
}

// An answer below the limits arrives, several on one connection too.
func TestAnswerBelowTheLimit(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := "[]"
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			text = `[{"Id":"` + strings.Repeat("x", maxAnswer/2) + `"}]`
		case strings.HasSuffix(r.URL.Path, "/info"):
			text = "{}"
		}
		_, _ = io.WriteString(w, text)
	}))
	defer s.Close()
	e := must.Get(New("x", Local{}, client.WithHost("tcp://"+s.Listener.Addr().String()), client.WithAPIVersion(MinAPI)))(t)
	defer func() { _ = e.Disconnect() }() // it only has idle connections
	for range 4 {
		must.Get(e.Leftovers(t.Context(), nil))(t)
	}
}
