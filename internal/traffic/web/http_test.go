package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

func httpParams(flows int, request, response quantity.Size, keepAlive string) traffic.Params {
	p := loopback.Params("http")
	p.Warmup, p.Duration = 10*time.Millisecond, 60*time.Millisecond
	p.Streams, p.RequestSize, p.ResponseSize, p.KeepAlive = flows, request, response, keepAlive
	return p
}

// Every pair of implementations serves every request, over kept connections and over one each, with and without a
// schedule and slices, and both endpoints count the same.
func TestHTTPConformance(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	i := 0
	for _, keep := range []string{study.On, study.Off} {
		for _, sizes := range [][2]quantity.Size{{0, 1}, {0, 1024}, {3000, 200_000}, {300_000, 20_000}} {
			for _, flows := range []int{1, 3} {
				i++
				for j, on := range covering(i) {
					p := httpParams(flows, sizes[0], sizes[1], keep)
					if (i/2+j)%2 == 0 {
						p.TransactionRate = 300
					} else {
						p.Slice, p.Rounds = 20*time.Millisecond, 3
					}
					name := fmt.Sprintf("%s, keep_alive %s, %v bytes, %d flows, rate %d", on, keep, sizes, flows, p.TransactionRate)
					_, c, s, err := loopback.Grown(t.Context(), httpRequests{on.Client}, httpRequests{on.Server}, p)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					httpAgree(must.Named(t, name), p, c, s)
				}
			}
		}
	}
}

// httpAgree checks the reports of both endpoints against each other.
func httpAgree(t testing.TB, p traffic.Params, c, s traffic.Report) {
	t.Helper()
	must.Equal(t, []int64{c.Messages, c.Sent, c.Received, int64(c.Connections), 0}, []int64{s.Messages, s.Received, s.Sent, int64(s.Connections), int64(s.Refused)})
	want := int(c.Messages)
	if p.KeepAlive == study.On {
		want = p.Streams
	}
	must.Equal(t, want, c.Connections)
	if least := c.Messages * int64(p.ResponseSize); c.Messages == 0 || c.Received <= least || c.Sent < c.Messages*int64(p.RequestSize+80) || c.Window.Failed > 0 {
		t.Errorf("%d messages, %d bytes sent and %d received, window %+v", c.Messages, c.Sent, c.Received, c.Window)
	}
	for end, r := range map[string]traffic.Report{"client": c, "server": s} {
		must.True(t, r.TCP.Segments <= 0 || r.TCP.Wire >= uint64(r.Sent) && r.TCP.Segments >= uint64(r.Messages)/2,
			"the %s sent %d bytes in %d messages, %+v", end, r.Sent, r.Messages, r.TCP)
	}
	m, _ := httpRequests{}.Metrics(p, c, s)
	_, connects := m["connect_p50"]
	if c.Window.RTT.Count() == 0 { // all that ended in the window began before it
		return
	}
	must.True(t, m["transaction_rate"] > 0 && m["loss_ratio"] == 0 && m["first_byte_p50"] > 0 && m["rtt_p50"] >= m["first_byte_p50"] && connects == (p.KeepAlive == study.Off),
		"metrics %v", m)
}

// Requests that fail in different ways are counted by kind, and the others go on.
func TestHTTPFailures(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		for _, keep := range []string{study.On, study.Off} {
			p := httpParams(1, 0, 3000, keep)
			p.Warmup = 0
			var requests, failing atomic.Int64
			requests.Store(6) // the first request succeeds: else some kinds end the trial
			s := theirs(t, p, func(w http.ResponseWriter, _ *http.Request) bool {
				kind := requests.Add(1) % 10
				if kind >= 1 && kind <= 6 {
					failing.Add(1)
				}
				hijack := func(text string, reset bool) {
					c, _ := must.Get2(http.NewResponseController(w).Hijack())(t)
					_, _ = io.WriteString(c, text)
					if reset {
						_ = c.(*net.TCPConn).SetLinger(0)
					}
					c.Close()
				}
				switch kind {
				case 1:
					w.WriteHeader(http.StatusServiceUnavailable)
				case 2:
					w.WriteHeader(http.StatusNotFound)
				case 3:
					hijack("", true)
				case 4:
					hijack("HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\nabc", false)
				case 5:
					hijack("SSH-2.0-x\r\n", false)
				case 6:
					w.Header().Set("Location", "/")
					w.WriteHeader(http.StatusFound)
				default:
					return false
				}
				return true
			})
			p.Address = s.Listener.Addr().String()
			var c traffic.Report
			for c.Window.Failed < 10 { // until there were all kinds
				requests.Store(6)
				failing.Store(0)
				c = must.Get(httpRequests{n}.Dial(t.Context(), p, nil))(must.Named(t, n.name))
				p.Duration *= 2
			}
			m, _ := httpRequests{}.Metrics(p, c, traffic.Report{})
			var kinds []string
			for _, f := range []httpFailure{httpCutOff, httpTruncated, httpClientError, httpServerError, httpMalformed, httpOther} {
				kinds = append(kinds, f.String())
			}
			note := ""
			for _, of := range c.Notes {
				if of.Code == "lost_exchanges" {
					note = of.Text
				}
			}
			must.ContainFor(t, n.name+" "+keep, note, kinds...)
			failed, all := failing.Load(), requests.Load()-6
			must.EqualFor(t, n.name+" "+keep+" "+note, []any{failed, all - failed, float64(failed) / float64(all)}, []any{c.Window.Failed, c.Window.Messages, m["loss_ratio"]})
		}
	}
}

// Cancelling a trial ends both endpoints, and each reports why.
func TestHTTPCancelled(t *testing.T) {
	t.Parallel()
	for _, on := range pairings() {
		p := httpParams(2, 0, 100, study.On)
		p.Duration = time.Minute
		ctx, cancel := context.WithCancelCause(t.Context())
		address, end := loopback.Serve(ctx, t, httpRequests{on.Server}, p)
		p.Address = address
		time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("enough")) })
		_, err := httpRequests{on.Client}.Dial(ctx, p, nil)
		must.FailFor(t, on, err, "enough")
		must.FailFor(t, on, (<-end).Err, "enough")
	}
}
