package tcp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// shape is one set of parameters of a workload.
type shape struct {
	kind   string
	what   string
	change func(*traffic.Params)
}

// shapes are the parameters that every pair of implementations must support alike.
func shapes() []shape {
	all := []shape{}
	add := func(kind, what string, change func(*traffic.Params)) { all = append(all, shape{kind, what, change}) }
	add("tcp_rr", "one flow", func(*traffic.Params) {})
	add("tcp_rr", "16 requests in progress", func(p *traffic.Params) { p.Pipeline = 16 })
	for _, streams := range []int{1, 4} {
		for _, dir := range []string{"forward", "reverse", "both"} {
			add("tcp_stream", fmt.Sprintf("%d streams %s", streams, dir), func(p *traffic.Params) {
				p.Streams, p.Direction = streams, dir
			})
			add("tcp_stream", fmt.Sprintf("%d streams %s, 2 threads, large writes", streams, dir), func(p *traffic.Params) {
				p.Streams, p.Direction, p.Threads, p.WriteSize = streams, dir, 2, 128<<10
			})
		}
	}
	add("tcp_stream", "1 thread for both directions", func(p *traffic.Params) { p.Direction, p.Threads = study.Both, 1 })
	add("tcp_stream", "paced", func(p *traffic.Params) { p.Rate = 20e6 })
	add("tcp_stream", "paced, both, 3 streams on 1 thread", func(p *traffic.Params) { p.Rate, p.Direction, p.Streams, p.Threads = 20e6, study.Both, 3, 1 })
	add("tcp_stream", "pinned", func(p *traffic.Params) { p.CPU, p.Streams = 0, 2 })
	add("tcp_stream", "bounded buffers, Nagle", func(p *traffic.Params) {
		p.SendBuffer, p.ReceiveBuffer, p.NoDelay = quantity.Buffer(64<<10), quantity.Buffer(64<<10), new(false)
	})
	// Nagle's algorithm would delay small writes until the first is acknowledged, which a receiver
	// delays by 40 ms: as long as a slice.
	add("tcp_stream", "writes of one byte", func(p *traffic.Params) { p.WriteSize, p.NoDelay = 1, new(true) })
	return all
}

// Everything that is sent arrives, for every shape of a trial and every pair of implementations.
// The two endpoints agree, and so do the metrics with the series.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, sliced := range []bool{false, true} {
		for i, s := range shapes() {
			on := covering(i)
			if sliced { // does not depend on the implementation: alternate between the directions
				on = covering(i + 1)
				on = on[i/2%len(on):][:1]
			}
			for _, on := range on {
				t.Run(fmt.Sprintf("%s/%s/sliced %t/%s", s.kind, s.what, sliced, on), func(t *testing.T) {
					p := loopback.Params(s.kind)
					s.change(&p)
					if sliced {
						p.Slice, p.Rounds = 40*time.Millisecond, 3
					}
					if p.CPU >= 0 && fastest().name == "portable" {
						p.CPU = -1 // no CPU to pin to
					}
					p, client, server, err := loopback.Grown(t.Context(), loopback.KindOf(over(on.Client), p.Kind), loopback.KindOf(over(on.Server), p.Kind), p)
					must.Do(t, err)
					agree(t, p, client, server)
					checkMetrics(t, p, client, server)
				})
			}
		}
	}
}

// agree checks the totals of both endpoints against each other.
func agree(t *testing.T, p traffic.Params, client, server traffic.Report) {
	t.Helper()
	must.True(t, client.Sent == server.Received && server.Sent == client.Received && client.Sent+server.Sent != 0,
		"client sent %d and received %d, server %d and %d", client.Sent, client.Received, server.Sent, server.Received)
	must.True(t, !p.Both() || client.Sent != 0 && server.Sent != 0, "both ways: client sent %d, server %d", client.Sent, server.Sent)
	if p.Kind != "tcp_stream" {
		return
	}
	for end, r := range map[string]traffic.Report{"client": client, "server": server} {
		must.EqualFor(t, end, connections(p)*max(1, p.Rounds+min(p.Rounds, 1)), r.Connections)
		var sum int64
		for _, v := range r.Window.Streams {
			sum += v
		}
		if counted := r.Window.Received; len(r.Window.Streams) != p.Streams || counted > 0 && sum != counted {
			t.Errorf("%s: %d streams that carried %d, window %+v", end, len(r.Window.Streams), sum, r.Window)
		}
		if sends := p.Both() || (end == "client") != p.Reverse(); p.Rate > 0 && sends {
			window := p.Duration
			if p.Rounds > 0 {
				window = time.Duration(p.Rounds) * (p.Slice - p.Slice/traffic.SliceWarmup)
			}
			due := float64(p.Rate) / 8 / float64(p.WriteSize) * window.Seconds()
			must.True(t, math.Abs(float64(r.Window.Slots)-due) <= float64(max(1, p.Rounds)*p.Streams), "%s had %d slots, the rate asks for %g", end, r.Window.Slots, due)
			// The received payload is the requested one, except for the write in progress at each
			// border of a window and the slots missed by a busy machine.
			if sent := float64(r.Window.Sent) / float64(p.WriteSize); sent > due*1.5+float64(2*p.Streams) {
				t.Errorf("%s sent %g writes of %g", end, sent, due)
			}
		}
	}
}

// checkMetrics checks the metrics and that the mean of the series equals the first one.
func checkMetrics(t *testing.T, p traffic.Params, client, server traffic.Report) {
	t.Helper()
	interval := traffic.SeriesInterval
	intervals := int((p.Duration + interval - 1) / interval)
	if p.Rounds > 0 {
		intervals, interval = p.Rounds, p.Slice-p.Slice/traffic.SliceWarmup
	}
	w := loopback.KindOf(All(), p.Kind)
	m, series := w.Metrics(p, client, server)
	must.Require(t, len(series.Values) == intervals && math.Abs(series.Interval-interval.Seconds()) <= interval.Seconds()/1000,
		"series %+v, want %d values of %s", series, intervals, interval)
	// The window of exchanges lasts until the last that began in it has ended, the series does not.
	window, planned := client.Window.Seconds, p.Duration.Seconds()
	if p.Rounds > 0 {
		planned = float64(p.Rounds) * series.Interval
	}
	var sum float64
	for i, v := range series.Values {
		sum += v * min(series.Interval, planned-float64(i)*series.Interval) / window
	}
	// An exchange counts where it began, and in the series where it ended: one of each flow may cross each end of a
	// window.
	off := 0.0
	if series.Metric != "goodput" {
		off = 2 * float64(max(1, p.Streams)*max(1, p.Pipeline)*max(1, p.Rounds)) / window
	}
	if want := m[series.Metric]; math.Abs(sum-want) > want*0.001+off || want == 0 {
		t.Errorf("the series gives %g, the metric %s is %g", sum, series.Metric, want)
	}
	for metric, v := range m {
		known, ok := result.MetricNamed(metric)
		if !ok || v < 0 || v == 0 && known.Primary {
			t.Errorf("metric %s = %g", metric, v)
		}
	}
	if p.Kind != "tcp_stream" {
		return
	}
	if _, fair := m["fairness"]; fair != (p.Streams > 1) {
		t.Errorf("%d streams: metrics %v", p.Streams, m)
	}
	must.True(t, m["fairness"] <= 1+1e-9 && m["send_rate"] > 0, "metrics %v", m)
	both := m["goodput_forward"] + m["goodput_reverse"]
	if p.Both() != (both > 0) || p.Both() && math.Abs(both-m["goodput"]) > 1 {
		t.Errorf("both %t: metrics %v", p.Both(), m)
	}
}

// Foreign connections on the data port are refused and never counted, in every shape.
func TestForeignConnections(t *testing.T) {
	t.Parallel()
	for _, on := range pairings() {
		for _, s := range []shape{
			{"tcp_stream", "forward", func(*traffic.Params) {}},
			{"tcp_stream", "both", func(p *traffic.Params) { p.Direction = study.Both }},
			{"tcp_rr", "", func(*traffic.Params) {}},
		} {
			t.Run(fmt.Sprintf("%s/%s/%s", s.kind, s.what, on), func(t *testing.T) {
				t.Parallel()
				p := loopback.Params(s.kind)
				s.change(&p)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				far := loopback.KindOf(over(on.Server), s.kind)
				address, end := loopback.Serve(ctx, t, far, p)
				for _, sent := range []string{"fedcba9876543210F", "GET / HTTP/1.1\r\n\r\n", ""} {
					c := must.Get(net.Dial("tcp", address))(t)
					must.Get(c.Write([]byte(sent)))(t)
					defer c.Close() // the silent one stays, and must not delay the trial
				}
				p.Address = address
				w := loopback.KindOf(over(on.Client), s.kind)
				client := must.Get(w.Dial(ctx, p, nil))(t)
				a := <-end
				must.True(t, a.Err == nil && a.Refused == 3 && a.Received == client.Sent, "%v: refused %d, received %d of %d", a.Err, a.Refused, a.Received, client.Sent)
			})
		}
	}
}

// Cancelling a trial ends both endpoints, and each reports why.
func TestCancelledTrial(t *testing.T) {
	t.Parallel()
	for _, on := range pairings() {
		for _, s := range []shape{
			{"tcp_stream", "forward", func(*traffic.Params) {}},
			{"tcp_stream", "both", func(p *traffic.Params) { p.Direction = study.Both }},
			{"tcp_stream", "paced slowly", func(p *traffic.Params) { p.Rate = 1e5 }},
			{"tcp_stream", "on 1 thread", func(p *traffic.Params) { p.Streams, p.Threads = 3, 1 }},
			{"tcp_rr", "", func(*traffic.Params) {}},
		} {
			t.Run(fmt.Sprintf("%s/%s/%s", s.kind, s.what, on), func(t *testing.T) {
				p := loopback.Params(s.kind)
				p.Duration = time.Minute
				s.change(&p)
				ctx, cancel := context.WithCancelCause(t.Context())
				far := loopback.KindOf(over(on.Server), s.kind)
				address, end := loopback.Serve(ctx, t, far, p)
				time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("enough")) })
				p.Address = address
				w := loopback.KindOf(over(on.Client), s.kind)
				_, err := w.Dial(ctx, p, nil)
				a := <-end
				// One endpoint may find the other closed before it is cancelled itself. To the
				// server of tcp_rr, a cancelled client has simply finished.
				if err == nil || a.Err == nil && s.kind != "tcp_rr" || !strings.Contains(fmt.Sprint(err, a.Err), "enough") {
					t.Errorf("cancelled, but the client returned %v and the server %v", err, a.Err)
				}
			})
		}
	}
}

// Silent connections do not delay a trial, however many came before its own, and those that come
// while it runs are counted, too.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	const before, during = 60, 20 // one after the other they would take 1 s each
	for _, on := range pairings() {
		for _, kind := range []string{"tcp_stream", "tcp_rr", "tcp_crr"} {
			t.Run(fmt.Sprintf("%s/%s", kind, on), func(t *testing.T) {
				p := loopback.Params(kind)
				p.Slice, p.Rounds = 40*time.Millisecond, 2
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				address, end := loopback.Serve(ctx, t, loopback.KindOf(over(on.Server), kind), p)
				p.Address = address
				silence(t, address, before)
				session, err := loopback.KindOf(over(on.Client), kind).(traffic.Sliced).Open(ctx, p)
				if err != nil {
					t.Fatal(err, (<-end).Err)
				}
				silence(t, address, during)
				for range p.Rounds {
					must.Do(t, session.Slice(ctx, p.Slice))
				}
				client := session.Close()
				a := <-end
				must.True(t, a.Err == nil && a.Refused == before+during && a.Received == client.Sent,
					"%v: refused %d, want %d; received %d of %d", a.Err, a.Refused, before+during, a.Received, client.Sent)
			})
		}
	}
}

// silence opens connections that send nothing.
func silence(t *testing.T, address string, n int) {
	t.Helper()
	for range n {
		c := must.Get(net.Dial("tcp", address))(t)
		t.Cleanup(func() { c.Close() })
	}
}
