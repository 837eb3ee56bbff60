package engine

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moby/moby/client"

	"tare/internal/testkit/must"
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
			must.True(t, err != nil && strings.HasPrefix(err.Error(), "engine x: list its containers: ") && !strings.Contains(err.Error(), "\n") && !errors.Is(err, ErrGone),
				"%s over %s: %v", name, network, err)
			must.True(t, name == "compressed" || name == "a header" || name == "deep" || errors.Is(err, errAnswer), "%s over %s: %v, want %v", name, network, err, errAnswer)
			_ = e.Disconnect()
			s.CloseClientConnections()
			s.Close()
			if n := sent.Load(); name != "compressed" && n > 32<<20 {
				t.Errorf("%s over %s: %d bytes were taken", name, network, n)
			}
		}
	}
}

// An engine that is late to attach a container to the network of a Swarm is asked again with another container, and one that
// cannot attach it is not.
func TestLateSwarm(t *testing.T) {
	const late = "attaching to network failed, make sure your network options are correct and check manager logs: context deadline exceeded"
	for _, c := range []struct {
		said  string
		late  int32 // starts that fail
		asked int32
		err   string
	}{
		{late, 2, 3, "it exited at once"},
		{"Could not attach to network x: context deadline exceeded", 1, 2, "it exited at once"},
		{late, 3, 3, "context deadline exceeded"},
		{"network x not found", 3, 1, "network x not found"},
	} {
		var asked, made, removed atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/containers/create"):
				_, _ = fmt.Fprintf(w, `{"Id":"%d"}`, made.Add(1))
			case r.Method == http.MethodDelete:
				removed.Add(1)
				w.WriteHeader(http.StatusNoContent)
			case !strings.HasSuffix(r.URL.Path, "/start"):
				_, _ = io.WriteString(w, `{"Id":"0","State":{"Running":false},"HostConfig":{},"Config":{},"NetworkSettings":{}}`)
			case asked.Add(1) <= c.late:
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, `{"message":"`+c.said+`"}`)
			default:
				w.WriteHeader(http.StatusNoContent)
			}
		}))
		defer s.Close()
		e := must.Get(New("x", Local{}, client.WithHost("tcp://"+s.Listener.Addr().String()), client.WithAPIVersion(MinAPI)))(t)
		e.images.id = map[string]string{"0123abcd": "image"}
		_, err := e.Run(t.Context(), ContainerSpec{Run: "0123abcd", Name: "c", Network: "net"})
		must.Fail(t, err, c.err)
		must.Equal(t, []int32{c.asked, c.asked, c.asked}, []int32{made.Load(), asked.Load(), removed.Load()})
		must.Do(t, e.Disconnect())
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

// An answer that does not end within its time ends, whether it is silent or slow; the next one has less. A stream has
// no end, and a connection without a request is closed by the client before.
func TestLateAnswer(t *testing.T) {
	for name, speak := range map[string]func(net.Conn){
		"silent": func(net.Conn) {},
		"slow": func(c net.Conn) {
			for {
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			late := new(atomic.Bool)
			for _, within := range []time.Duration{answerTimeout(), hurriedTimeout()} {
				near, far := net.Pipe()
				c := &boundedConn{Conn: near, late: late}
				var speaks sync.WaitGroup
				speaks.Go(func() {
					_, _ = far.Read(make([]byte, 100))
					speak(far)
				})
				began := time.Now()
				must.Get(c.Write([]byte("GET / HTTP/1.1\r\n\r\n")))(t)
				_, err := io.Copy(io.Discard, c)
				if !errors.Is(err, errLate) || !isUnreachable(err) || time.Since(began) != within {
					t.Errorf("%s: %v after %v, want %v after %v", name, err, time.Since(began), errLate, within)
				}
				far.Close()
				speaks.Wait()
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := &boundedConn{Conn: near, late: new(atomic.Bool)}
		go func() {
			_, _ = far.Read(make([]byte, 100))
			time.Sleep(time.Hour)
			_, _ = far.Write([]byte("x"))
		}()
		must.Get(c.Write([]byte("POST /exec/1/start HTTP/1.1\r\nUpgrade: tcp\r\n\r\n")))(t)
		must.Get(c.Read(make([]byte, 1)))(t)
		if must.Do(t, c.Close()); c.late.Load() {
			t.Error("a stream is late")
		}
	})
}
