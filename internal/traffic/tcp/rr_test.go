package tcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
	"tare/internal/traffic/dns"
	"tare/internal/traffic/exchange"
)

// rrAgree checks two reports against each other and against the sizes of the messages.
func rrAgree(t *testing.T, name string, p traffic.Params, c, s traffic.Report) {
	t.Helper()
	must.True(t, c.Messages != 0 && c.Messages == s.Messages, "%s: client %d messages, server %d", name, c.Messages, s.Messages)
	must.True(t, c.Sent == s.Received && s.Sent == c.Received && c.Sent == c.Messages*int64(p.RequestSize) && s.Sent == c.Messages*int64(p.ResponseSize),
		"%s: client sent %d and received %d, server %d and %d, in %d messages", name, c.Sent, c.Received, s.Sent, s.Received, c.Messages)
	must.True(t, c.Window.Messages != 0 && c.Window.Messages <= c.Messages, "%s: %d messages in the window, of %d", name, c.Window.Messages, c.Messages)
	must.True(t, c.Refused+s.Refused <= 0 && len(c.Notes) == 0, "%s: refused %d, notes %v", name, s.Refused, c.Notes)
}

// sizing is one row of a table of trials of tcp_rr and tcp_crr.
type sizing struct {
	on                loopback.Pairing[path]
	flows             int
	request, response int
	other             bool // a parameter of the workload
}

func (x sizing) String() string {
	return fmt.Sprintf("%s, %d flows, %d/%d bytes", x.on, x.flows, x.request, x.response)
}

// exchanges covers every pair of parameter values, and every triple of flows, sizes and the
// workload's own parameter, in a quarter of all possible rows.
func exchanges(sizes [][2]int) (out []sizing) {
	for f, flows := range []int{1, 3, 32} {
		for s, size := range sizes {
			for r, on := range covering(f + s) {
				out = append(out, sizing{on, flows, size[0], size[1], (f+s)/2%2 != r})
			}
		}
	}
	return out
}

// The table of exchanges has every pair.
func TestExchangesCoverPairs(t *testing.T) {
	t.Parallel()
	if len(pairings()) == 1 {
		testneed.Missing(t, testneed.Other, "this system has one network")
	}
	pairs := map[string]bool{}
	for _, x := range exchanges([][2]int{{1, 1}, {2, 2}, {3, 3}, {4, 4}}) {
		row := []string{"client " + x.on.Client.name, "server " + x.on.Server.name, fmt.Sprint("flows ", x.flows), fmt.Sprint("size ", x.request), fmt.Sprint("other ", x.other)}
		for i, a := range row {
			for _, b := range row[i+1:] {
				pairs[a+", "+b] = true
			}
		}
	}
	// Of 2, 2, 3, 4 and 2 values.
	if want := 2*2 + 2*3 + 2*4 + 2*2 + 2*3 + 2*4 + 2*2 + 3*4 + 3*2 + 4*2; len(pairs) != want {
		t.Errorf("%d pairs of %d: %v", len(pairs), want, slices.Sorted(maps.Keys(pairs)))
	}
}

// Both endpoints count the same for any implementations, flows and sizes, with and without a
// schedule.
func TestRRConformance(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, x := range exchanges([][2]int{{1, 1}, {100, 3000}, {300_000, 2}, {1, 300_000}}) {
		rate := 0
		if x.other {
			rate = 500
		}
		name := fmt.Sprintf("%s, rate %d", x, rate)
		p := loopback.Params("tcp_rr")
		p.Streams, p.RequestSize, p.ResponseSize, p.TransactionRate = x.flows, quantity.Size(x.request), quantity.Size(x.response), rate
		p.Warmup, p.Duration = 10*time.Millisecond, 60*time.Millisecond
		p, c, s, err := loopback.Grown(t.Context(), rr{x.on.Client}, rr{x.on.Server}, p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if rate > 0 {
			c.Notes = nil // slots may be missed
		}
		rrAgree(t, name, p, c, s)
		must.EqualFor(t, name, []int{x.flows, x.flows, x.flows}, []int{c.Connections, s.Connections, len(c.Window.Streams)})
		var received int64
		for _, n := range c.Window.Streams {
			received += n
		}
		must.EqualFor(t, fmt.Sprintf("%s: the streams received", name), c.Window.Received, received)
		if want := int64(p.Duration * 500 / time.Second); rate > 0 && c.Window.Slots != want {
			t.Errorf("%s: %d slots in %s at %d/s", name, c.Window.Slots, p.Duration, rate)
		}
	}
}

// The schedule continues from slice to slice: a rate below one per slice is kept.
func TestRRScheduleOverSlices(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, path := range pairings() {
		for _, flows := range []int{1, 3} {
			p := loopback.Params("tcp_rr")
			p.Streams, p.TransactionRate, p.Warmup, p.Slice, p.Rounds = flows, 40, 0, 10*time.Millisecond, 25
			p.RequestSize, p.ResponseSize = 1, 1
			c, s := must.Get2(loopback.Between(t.Context(), rr{path.Client}, rr{path.Server}, p))(must.Named(t, path))
			// 250 ms at 40/s are 10 slots, one every 25 ms: at 0, 5, 0, 5, ... of a slice, of which
			// the first 2 ms do not count.
			must.True(t, c.Window.Slots == 5 && c.Messages+c.Window.Missed >= 5 && c.Messages <= 10 && c.Messages == s.Messages,
				"%s, %d flows: %d slots, %d missed, %d and %d messages", path, flows, c.Window.Slots, c.Window.Missed, c.Messages, s.Messages)
		}
	}
}

// A schedule that cannot be kept still ends in time, and what was not sent is reported.
func TestRROverload(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, path := range pairings() {
		for _, flows := range []int{1, 2} {
			p := loopback.Params("tcp_rr")
			p.Streams, p.TransactionRate = flows, exchange.MaxRate
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			c, _, err := loopback.Between(ctx, rr{path.Client}, rr{path.Server}, p)
			cancel()
			if err != nil {
				t.Fatalf("%s, %d flows: %v", path, flows, err)
			}
			if want := p.Duration.Nanoseconds(); c.Window.Slots != want || c.Window.Missed == 0 || c.Window.Missed > want {
				t.Errorf("%s, %d flows: %d slots, want %d; missed %d", path, flows, c.Window.Slots, want, c.Window.Missed)
			}
			must.True(t, len(c.Notes) == 1 && c.Notes[0].Code == "generator_limited", "%s, %d flows: notes %v", path, flows, c.Notes)
		}
	}
}

// A server that stalls for a third of a trial delays every request that was due meanwhile, and each of them shows it:
// there is no coordinated omission. A trial in which a busy machine sends too few is repeated for longer.
func TestRRLatencyIsFromTheIntendedSend(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		p := loopback.Params("tcp_rr")
		p.TransactionRate, p.Warmup = 1000, 0
		var c traffic.Report
		for p.Duration = 300 * time.Millisecond; p.Duration < 20*time.Second; p.Duration *= 2 {
			p := p
			p.Address = fakeServer(t, p, func(c net.Conn) {
				answer(c, p, 20)
				time.Sleep(p.Duration / 3)
				answer(c, p, -1)
			})
			c = must.Get(rr{n}.Dial(t.Context(), p, nil))(t)
			must.Equal(t, p.Duration.Milliseconds(), c.Window.Slots)
			if c.Window.Missed < c.Window.Slots/20 {
				break
			}
		}
		// A third was due during the stall; half of those waited half as long.
		if got := c.Window.RTT.Quantile(0.9); got < p.Duration.Seconds()/15 {
			t.Errorf("%s: 90th percentile %g s of %d slots: the wait of the requests after the first is missing", n.name, got, c.Window.Slots)
		}
	}
}

// A server that never answers, closes or sends too much ends the trial with a reason.
func rrBadServer(t *testing.T) {
	cases := map[string]struct {
		serve func(net.Conn)
		want  string
	}{
		"silent":  {func(net.Conn) {}, "enough"},
		"closes":  {func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); c.Close() }, "closed the connection"},
		"resets":  {func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); c.Close() }, "reset"},
		"refuses": {nil, "refused"},
	}
	tests := map[string]func(*testing.T){}
	for name, test := range cases {
		for _, n := range implementations() {
			for _, flows := range []int{1, 4} {
				tests[fmt.Sprintf("%s/%s/%d", name, n, flows)] = func(t *testing.T) {
					p := loopback.Params("tcp_rr")
					p.Streams, p.Duration = flows, time.Minute
					p.Address = "127.0.0.1:1"
					limit := time.Minute
					if test.serve != nil {
						p.Address = fakeServer(t, p, test.serve)
					}
					if test.want == "enough" {
						limit = 2 * time.Second // for it to start; then only this ends it
					}
					ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("enough"))
					defer cancel()
					_, err := rr{n}.Dial(ctx, p, nil)
					must.True(t, err != nil && (strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "broken pipe")), "got %v, want %q", err, test.want)
				}
			}
		}
	}
	loopback.AtOnce(t, tests)
}

// Unsupported parameters are reported at once.
func TestRRBadParams(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"tcp_rr", "tcp_crr"} {
		for want, change := range map[string]func(*traffic.Params){
			"0 flows":                func(p *traffic.Params) { p.Streams = 0 },
			"-1 flows":               func(p *traffic.Params) { p.Streams = -1 },
			"a request of -5":        func(p *traffic.Params) { p.RequestSize = -5 },
			"a response of -5":       func(p *traffic.Params) { p.ResponseSize = -5 },
			"not an ip:port":         func(p *traffic.Params) { p.Address = "nowhere" },
			"transactions/s: use at": func(p *traffic.Params) { p.TransactionRate = math.MaxInt },
		} {
			p := loopback.Params(kind)
			p.Streams = 1
			change(&p)
			if kind == "tcp_crr" && p.TransactionRate > 0 {
				continue // not a parameter of it
			}
			for _, n := range implementations() {
				w := loopback.KindOf(over(n), kind)
				if _, err := w.Listen(p); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s: listen: %v", kind, want, err)
				}
				if _, err := w.Dial(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s: dial: %v", kind, want, err)
				}
			}
		}
	}
}

// The fast implementations allocate nothing per exchange, query or connection after set-up.
func TestRRAllocatesNothing(t *testing.T) {
	loopback.Room(t)
	for what, c := range map[string]struct {
		w      traffic.Workload
		setUp  int64 // allocations
		change func(*traffic.Params)
	}{
		"tcp_rr":                    {rr{fastest()}, 1000, func(*traffic.Params) {}},
		"tcp_rr with a rate":        {rr{fastest()}, 1000, func(p *traffic.Params) { p.TransactionRate = 20_000 }},
		"tcp_rr with a pipeline":    {rr{fastest()}, 1000, func(p *traffic.Params) { p.Pipeline = 16 }},
		"tcp_crr":                   {crr{fastest()}, 1000, func(p *traffic.Params) { p.Close, p.Congestion = study.RST, "reno" }},
		"tcp_dns, with its 2 zones": {dnsQueries{rr{fastest()}}, 40 * dns.Names, func(*traffic.Params) {}},
	} {
		for _, flows := range []int{1, 8} {
			p := loopback.Params(c.w.Spec().Kind)
			p.Streams, p.Warmup, p.Slice, p.Rounds = flows, 0, 150*time.Millisecond, 2
			c.change(&p)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			client, _ := must.Get2(loopback.Between(t.Context(), c.w, c.w, p))(must.Named(t, what))
			runtime.ReadMemStats(&after)
			got := int64(after.Mallocs - before.Mallocs)
			t.Logf("%s, %d flows: %d allocations in %d exchanges", what, flows, got, client.Messages)
			must.True(t, fastest().name != "fast" || got <= c.setUp+client.Messages/10, "%s, %d flows: %d allocations in %d exchanges", what, flows, got, client.Messages)
		}
	}
}
