package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/http1"
)

// streamOf is a server of net/http that answers each message of a call that goes on; change may do something else with a message, of that
// number in its call, and end the call.
func streamOf(t *testing.T, p traffic.Params, change func(w http.ResponseWriter, n int) (ends bool)) (address string) {
	t.Helper()
	trial := trial2(t, p)
	return theirs2(t, p, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != streamPath || r.Header.Get(http1.TagField) != trial.ask {
			w.WriteHeader(http.StatusTeapot)
			return true
		}
		w.Header().Set(http1.TagField, trial.answer)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		prefix, size := trial.framed(p.ResponseSize)
		_, asked := trial.framed(p.RequestSize)
		message := make([]byte, asked)
		for n := 0; ; n++ {
			if _, err := io.ReadFull(r.Body, message); err != nil {
				return true
			}
			if change(w, n) {
				return true
			}
			_, _ = w.Write(append(prefix, make([]byte, size-len(prefix))...))
			w.(http.Flusher).Flush()
		}
	})
}

// The client of calls that go on is right about net/http's server, in the clear and in TLS, and begins another call where one ends.
func TestGRPCStreamsOfNetHTTP(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	never := func(http.ResponseWriter, int) bool { return false }
	for _, n := range implementations() {
		for i, sizes := range [][2]quantity.Size{{0, 10}, {100_000, 300_000}} {
			p := http2Params("grpc", 2, 3, sizes[0], sizes[1])
			p.Streaming, p.TLS = study.Bidi, []string{study.Off, study.On}[i]
			p.Address = streamOf(t, p, never)
			c := must.Get(loopback.KindOf(over(n), "grpc").Dial(t.Context(), p, nil))(must.Named(t, n.name))
			must.True(t, c.Messages != 0 && c.Window.Failed <= 0 && c.Connections == 2 && len(c.Notes) == 0,
				"%s: %d messages, %d connections, %v", n.name, c.Messages, c.Connections, c.Notes)
		}
		p := http2Params("grpc", 1, 2, 10, 10)
		p.Streaming, p.Warmup = study.Bidi, 0
		for kind, end := range map[string]func(w http.ResponseWriter){
			"answered with an error of gRPC": func(w http.ResponseWriter) { w.Header().Set("Grpc-Status", "14") },
			"answered with something else":   func(w http.ResponseWriter) { w.Header().Set("Grpc-Status", "0") },
			"reset":                          func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		} {
			p.Address = streamOf(t, p, func(w http.ResponseWriter, n int) bool {
				if n == 9 {
					end(w)
				}
				return n == 9
			})
			c := must.Get(loopback.KindOf(over(n), "grpc").Dial(t.Context(), p, nil))(must.Named(t, kind))
			for longer := p; c.Messages < 40; { // on a busy machine no call may have come to its tenth message
				longer.Duration *= 2
				c = must.Get(loopback.KindOf(over(n), "grpc").Dial(t.Context(), longer, nil))(must.Named(t, kind))
			}
			// One of ten messages of a call fails; those of the two last calls may not have come to it. The first message of each flow is the warm-up.
			failed := c.Window.Failed
			if failed == 0 || c.Messages != c.Window.Messages+2 || c.Messages < 9*failed || c.Messages > 9*(failed+2) || len(c.Notes) != 1 || !strings.Contains(c.Notes[0].Text, fmt.Sprintf("failed: %d %s", failed, kind)) {
				t.Errorf("%s: %d messages, %d in the window, %d failed, %v", kind, c.Messages, c.Window.Messages, failed, c.Notes)
			}
		}
	}
}

// What is no answer to a message of a call that goes on ends the trial with one line, if nothing was answered before.
func TestGRPCStreamsThatAreNone(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for want, change := range map[string]func(http.ResponseWriter, int) bool{
		"the message of the response has 11 bytes, not 10": func(w http.ResponseWriter, _ int) bool {
			_, _ = w.Write(append([]byte{0, 0, 0, 0, 11}, make([]byte, 11)...))
			return true
		},
		"a message of the call is compressed, which was not agreed": func(w http.ResponseWriter, _ int) bool {
			_, _ = w.Write([]byte{1, 0, 0, 0, 1, 'x'})
			return true
		},
		"the body ends within a message of the call": func(w http.ResponseWriter, _ int) bool {
			_, _ = w.Write([]byte{0, 0, 0, 0, 10, 'x'})
			return true
		},
		"the answer is 503 Service Unavailable, as did 20": func(w http.ResponseWriter, _ int) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		},
		"another server answers on this port": func(w http.ResponseWriter, _ int) bool {
			w.Header().Del(http1.TagField)
			_, _ = w.Write(append([]byte{0, 0, 0, 0, 10}, make([]byte, 10)...))
			return true
		},
		`the answer is the status "12" of gRPC: "", as did 20`: func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Grpc-Status", "12")
			return true
		},
	} {
		for _, n := range implementations() {
			p := http2Params("grpc", 1, 2, 10, 10)
			p.Streaming, p.Duration = study.Bidi, time.Minute
			p.Address = streamOf(t, p, change)
			_, err := loopback.KindOf(over(n), "grpc").Dial(t.Context(), p, nil)
			must.FailLine(t, n.name, err, want)
		}
	}
}

// The server answers each message of net/http's client on calls that go on, ends them with their status, and refuses who does not show
// the trial's tag.
func TestGRPCStreamsServerOfNetHTTP(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		p := http2Params("grpc", 1, 1, 3, 4)
		p.Streaming = study.Bidi
		trial := trial2(t, p)
		address, stop := httpServing(t, n, p)
		transport := &http.Transport{Protocols: only2()}
		call := func(tag string) (*http.Response, *io.PipeWriter) {
			body, sent := io.Pipe()
			q := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+streamPath, body))(t)
			q.Header.Set(http1.TagField, tag)
			q.Header.Set("Content-Type", "application/grpc+proto")
			q.Header.Set("TE", "trailers")
			go func() { _, _ = sent.Write([]byte{0, 0, 0, 0, 3, 'a', 'b', 'c'}) }()
			return must.Get(transport.RoundTrip(q))(t), sent
		}
		r, sent := call(trial.ask)
		answer := make([]byte, 9)
		for i := range 5 {
			must.Get(io.ReadFull(r.Body, answer))(t)
			must.Equal(t, "\x00\x00\x00\x00\x04\x00\x00\x00\x00", string(answer))
			if i < 4 {
				must.Get(sent.Write([]byte{0, 0, 0, 0, 3, 'a', 'b', 'c'}))(t)
			}
		}
		sent.Close()
		must.Equal(t, 0, len(must.Get(io.ReadAll(r.Body))(t)))
		must.Equal(t, "0", r.Trailer.Get("Grpc-Status"))
		r.Body.Close()
		r, sent = call("0123")
		must.Equal(t, http.StatusForbidden, r.StatusCode)
		r.Body.Close()
		sent.Close()
		transport.CloseIdleConnections()
		if r := stop(); r.Messages != 5 || r.Refused != 0 || r.Connections != 1 {
			t.Errorf("%s: %d messages, %d refused, %d connections", n.name, r.Messages, r.Refused, r.Connections)
		}
	}
}
