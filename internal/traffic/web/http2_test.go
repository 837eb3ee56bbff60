package web

import (
	"fmt"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

func http2Params(kind string, flows, streams int, request, response quantity.Size) traffic.Params {
	p := loopback.Params(kind)
	p.Warmup, p.Duration = 10*time.Millisecond, 60*time.Millisecond
	p.Flows, p.Streams, p.RequestSize, p.ResponseSize = flows, streams, request, response
	return p
}

// Every pair of implementations serves every request and call, in the clear and in TLS, pinned or not, with and without a
// schedule and slices, in all pairs of these parameters, and both endpoints count the same.
func TestHTTP2Conformance(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	kinds := [][2]string{{"http2", ""}, {"grpc", ""}, {"grpc", study.Bidi}, {"grpc", study.ServerStreams}}
	sizes := [][2]quantity.Size{{0, 1}, {0, 1024}, {3000, 200_000}, {5 << 20, 20_000}, {300_000, 300_000}}
	flows := [][2]int{{1, 1}, {1, 8}, {3, 2}}
	for i := range len(kinds) * len(sizes) {
		kind, size := kinds[i/len(sizes)], sizes[i%len(sizes)]
		many := flows[(i/len(sizes)+i)%len(flows)]
		for j, on := range covering(i) {
			p := http2Params(kind[0], many[0], many[1], size[0], size[1])
			p.Streaming = kind[1]
			if p.Streaming == study.ServerStreams {
				p.Messages = 1 + i%4
			}
			large := int64(size[0]+size[1]*quantity.Size(max(1, p.Messages)))*int64(many[0]*many[1]) > 2<<20 // no request would begin in the timed part of a slice
			switch scheduled := (i/2+j)%2 == 0; {
			case scheduled && large:
				p.TransactionRate = 30
			case scheduled:
				p.TransactionRate = 300
			case !large:
				p.Slice, p.Rounds = 20*time.Millisecond, 3
			}
			if i%3 == 0 {
				p.CPU = 0
			}
			if i%4 < 2 {
				p.TLS = study.On
			}
			name := fmt.Sprintf("%s, %s, tls %q, %v bytes, %d flows of %d, rate %d, CPU %d", on, kind, p.TLS, size, many[0], many[1], p.TransactionRate, p.CPU)
			_, c, s, err := loopback.Grown(t.Context(), loopback.KindOf(over(on.Client), p.Kind), loopback.KindOf(over(on.Server), p.Kind), p)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			http2Agree(must.Named(t, name), p, c, s)
		}
	}
}

// http2Agree checks the reports of both endpoints against each other.
func http2Agree(t testing.TB, p traffic.Params, c, s traffic.Report) {
	t.Helper()
	must.Equal(t, []int64{c.Messages, c.Sent, c.Received, int64(c.Connections), 0, int64(max(p.Flows, 1))}, []int64{s.Messages, s.Received, s.Sent, int64(s.Connections), int64(s.Refused), int64(c.Connections)})
	least, asked := c.Messages*int64(p.ResponseSize)*int64(max(1, p.Messages)), c.Messages*int64(p.RequestSize)
	must.True(t, c.Messages != 0 && c.Received > least && c.Sent > asked && c.Window.Failed <= 0 && c.Window.Sent <= c.Sent && c.Window.Received <= c.Received,
		"%d messages, %d bytes sent and %d received, window %+v", c.Messages, c.Sent, c.Received, c.Window)
	// A header block is short from the second on: the fields are kept.
	if over := c.Sent - asked - int64(c.Connections)*300; over/c.Messages > 40+9*int64(p.RequestSize)/8000 {
		t.Errorf("%d bytes besides the bodies of %d requests", over, c.Messages)
	}
	for end, r := range map[string]traffic.Report{"client": c, "server": s} {
		must.True(t, r.TCP.Segments <= 0 || r.TCP.Wire >= uint64(r.Sent), "the %s sent %d bytes in %d messages, %+v", end, r.Sent, r.Messages, r.TCP)
	}
	if c.Window.RTT.Count() == 0 { // all that ended in the window began before it
		return
	}
	m, _ := http2Requests{}.Metrics(p, c, s)
	must.True(t, m["transaction_rate"] > 0 && m["loss_ratio"] == 0 && m["first_byte_p50"] > 0 && m["rtt_p50"] >= m["first_byte_p50"], "metrics %v", m)
}
