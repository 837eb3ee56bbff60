package web

import (
	"bytes"
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

// seriesOf is a server of net/http that answers each call with so many messages, in writes of two of them or parts of one, and that status.
func seriesOf(t *testing.T, p traffic.Params, messages int, status string) (address string) {
	t.Helper()
	trial := trial2(t, p)
	return theirs2(t, p, func(w http.ResponseWriter, r *http.Request) bool {
		_, asked := trial.framed(p.RequestSize)
		body, err := io.ReadAll(r.Body)
		if r.URL.Path != seriesPath || r.Header.Get(http1.TagField) != trial.ask || err != nil || len(body) != asked {
			w.WriteHeader(http.StatusTeapot)
			return true
		}
		w.Header().Set(http1.TagField, trial.answer)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		prefix, size := trial.framed(p.ResponseSize)
		all := bytes.Repeat(append(prefix, make([]byte, size-len(prefix))...), messages)
		for len(all) > 0 {
			n := min(len(all), 2*size, 100_000)
			_, _ = w.Write(all[:n])
			w.(http.Flusher).Flush()
			all = all[n:]
		}
		w.Header().Set("Grpc-Status", status)
		return true
	})
}

func seriesParams(flows, streams, messages int, request, response quantity.Size) traffic.Params {
	p := http2Params("grpc", flows, streams, request, response)
	p.Streaming, p.Messages = study.ServerStreams, messages
	return p
}

// The client counts a call of net/http's server when all its messages have arrived, in the clear and in TLS.
func TestGRPCSeriesOfNetHTTP(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		for i, sizes := range [][2]quantity.Size{{1, 10}, {100_000, 300_000}} {
			p := seriesParams(2, 3, 7, sizes[0], sizes[1])
			p.TLS = []string{study.Off, study.On}[i]
			p.Address = seriesOf(t, p, 7, "0")
			c := must.Get(loopback.KindOf(over(n), "grpc").Dial(t.Context(), p, nil))(must.Named(t, n.name))
			must.True(t, c.Messages != 0 && c.Window.Failed <= 0 && c.Connections == 2 && len(c.Notes) == 0 && c.Received >= 7*c.Messages*int64(p.ResponseSize),
				"%s: %d messages, %d connections, %d bytes, %v", n.name, c.Messages, c.Connections, c.Received, c.Notes)
		}
	}
}

// A series with another number of messages, or another status, ends the trial with one line if nothing else was answered.
func TestGRPCSeriesThatIsNone(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, c := range []struct {
		messages     int
		status, want string
	}{
		{6, "0", "the call was answered with 6 messages, not 7"},
		{8, "0", "the call was answered with more than 7 messages"},
		{0, "0", "the call was answered with 0 messages, not 7"},
		{7, "13", `the answer is the status "13" of gRPC`},
	} {
		for _, n := range implementations() {
			p := seriesParams(1, 2, 7, 10, 10)
			p.Duration = time.Minute
			p.Address = seriesOf(t, p, c.messages, c.status)
			must.FailLine(t, n.name, must.Err(loopback.KindOf(over(n), "grpc").Dial(t.Context(), p, nil)), c.want)
		}
	}
}

// The server answers a call of net/http's client with as many messages as the trial says, or the default, and counts calls.
func TestGRPCSeriesServerOfNetHTTP(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		for asked, want := range map[int]int{5: 5, 0: study.StreamedMessages} {
			p := seriesParams(1, 1, asked, 3, 4)
			trial := trial2(t, p)
			address, stop := httpServing(t, n, p)
			transport := &http.Transport{Protocols: only2()}
			for range 3 {
				q := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+seriesPath, strings.NewReader("\x00\x00\x00\x00\x03abc")))(t)
				q.Header.Set(http1.TagField, trial.ask)
				q.Header.Set("Content-Type", "application/grpc")
				r := must.Get(transport.RoundTrip(q))(t)
				must.Equal(t, strings.Repeat("\x00\x00\x00\x00\x04\x00\x00\x00\x00", want), string(must.Get(io.ReadAll(r.Body))(t)))
				must.Equal(t, "0", r.Trailer.Get("Grpc-Status"))
				r.Body.Close()
			}
			transport.CloseIdleConnections()
			if r := stop(); r.Messages != 3 || r.Refused != 0 || r.Connections != 1 {
				t.Errorf("%s: %d messages, %d refused, %d connections", n.name, r.Messages, r.Refused, r.Connections)
			}
		}
	}
}

// Time to the first byte is that of the first message, and the response time that of the last: a server that waits between them shows it.
func TestGRPCSeriesTimes(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	const pause = 200 * time.Millisecond // far more than the client takes to read a message
	for _, n := range implementations() {
		p := seriesParams(1, 1, 3, 10, 10)
		p.Warmup, p.Duration = 0, 200*time.Millisecond
		trial := trial2(t, p)
		p.Address = theirs2(t, p, func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set(http1.TagField, trial.answer)
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Trailer", "Grpc-Status")
			w.(http.Flusher).Flush() // the head comes before
			for range 3 {
				time.Sleep(pause)
				_, _ = w.Write(append([]byte{0, 0, 0, 0, 10}, make([]byte, 10)...))
				w.(http.Flusher).Flush()
			}
			w.Header().Set("Grpc-Status", "0")
			return true
		})
		c := must.Get(loopback.KindOf(over(n), "grpc").Dial(t.Context(), p, nil))(t)
		first, whole := c.Window.FirstByte.Quantile(0), c.Window.RTT.Quantile(0)
		must.True(t, first >= pause.Seconds()*0.99 && whole >= 3*pause.Seconds()*0.99 && first <= whole-pause.Seconds(),
			"%s: first byte after %g s, all after %g s", n.name, first, whole)
	}
}
