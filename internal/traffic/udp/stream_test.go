package udp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// params is a short trial over loopback.
func params(kind string) traffic.Params {
	return traffic.Params{
		Workload: study.Workload{Kind: kind, Streams: 1, PayloadSize: 1400, RequestSize: 16, ResponseSize: 16, Rate: 50e6, Burst: 64, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.Buffer(4 << 20)},
		Address:  "127.0.0.1:0", Token: loopback.NewToken(), CPU: -1, Warmup: 50 * time.Millisecond, Duration: 250 * time.Millisecond,
	}
}

// end is the result of one endpoint of a trial.
type end struct {
	r   traffic.Report
	err error
}

// begin serves w and sets the server's address in p.
func begin(ctx context.Context, t *testing.T, w traffic.Workload, p *traffic.Params, peer traffic.Peer) <-chan end {
	t.Helper()
	s := must.Get(w.Listen(*p))(t)
	host, _ := must.Get2(net.SplitHostPort(p.Address))(t)
	p.Address = net.JoinHostPort(host, fmt.Sprint(s.Port()))
	served := make(chan end, 1)
	go func() {
		r, err := s.Serve(ctx, peer)
		served <- end{r, err}
	}()
	return served
}

// trial runs both endpoints of a trial and passes the report of the one that ends first to the
// other, as the controller does.
func trial(t *testing.T, server, client traffic.Workload, p traffic.Params) (c, s traffic.Report, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	toClient, toServer := make(chan traffic.Report, 1), make(chan traffic.Report, 1)
	served := begin(ctx, t, server, &p, toServer)
	dialed := make(chan end, 1)
	go func() {
		r, err := client.Dial(ctx, p, toClient)
		dialed <- end{r, err}
	}()
	var ends [2]end
	for range ends {
		select {
		case ends[0] = <-dialed:
			toServer <- ends[0].r
			err = errors.Join(err, ends[0].err)
		case ends[1] = <-served:
			toClient <- ends[1].r
			err = errors.Join(err, ends[1].err)
		}
		if err != nil {
			cancel()
		}
	}
	return ends[0].r, ends[1].r, err
}

// pairings are the pairs of implementations that must interoperate.
func pairings(of func(socket.UDP) traffic.Workload) map[string][2]traffic.Workload {
	fast, slow := of(socket.FastestUDP()), of(portable())
	return map[string][2]traffic.Workload{"fast": {fast, fast}, "portable": {slow, slow}, "fast to portable": {slow, fast}, "portable to fast": {fast, slow}}
}

// covering returns two of the pairings for each of many cases, in which each endpoint is once fast and
// once portable. Adjacent cases get the other two, so that the cases together cover every pairing.
func covering(i int) []string {
	if i%2 == 0 {
		return []string{"fast", "portable"}
	}
	return []string{"fast to portable", "portable to fast"}
}

func newStream(n socket.UDP) traffic.Workload { return stream{n} }

func newRR(n socket.UDP) traffic.Workload { return rr{n} }

// consistent checks that the counts of both endpoints of a udp_stream agree.
func consistent(t *testing.T, name string, p traffic.Params, sender, receiver traffic.Report) {
	t.Helper()
	a, b := sender.Datagrams, receiver.Datagrams
	flows := max(1, p.Streams)
	must.Require(t, a != nil && b != nil && len(a.Flows) == flows && len(b.Flows) == flows, "%s: not %d flows in both reports: %+v, %+v", name, flows, a, b)
	var sent, counted, got, inTime int64
	for i := range a.Flows {
		x, y := a.Flows[i], b.Flows[i]
		must.True(t, y.Received <= x.Sent && y.ReceivedCounted <= x.SentCounted && x.SentCounted <= x.Sent && x.SentCounted != 0, "%s: flow %d: sent %+v, received %+v", name, i, x, y)
		sent, counted, got, inTime = sent+x.Sent, counted+x.SentCounted, got+y.Received, inTime+y.ReceivedCounted
	}
	size := int64(p.PayloadSize)
	if sender.Sent != sent*size || sender.Messages != sent || sender.TCP.Segments != uint64(sent) || receiver.Received != got*size {
		t.Errorf("%s: %d bytes in %d messages sent and %d received, the flows have %d and %d datagrams", name, sender.Sent, sender.Messages, receiver.Received, sent, got)
	}
	if sender.Window.Sent != counted*size || receiver.Window.Received != inTime*size || sender.Window.Slots > 0 && sender.Window.Slots != counted+sender.Window.Missed {
		t.Errorf("%s: window %+v and %+v for %d counted datagrams, %d in time", name, sender.Window, receiver.Window, counted, inTime)
	}
	var sum float64
	for i, v := range receiver.Window.Series {
		sum += v * intervals(p)[i]
	}
	if d := sum - float64(inTime*size); d > 1 || d < -1 {
		t.Errorf("%s: the series holds %g bytes, the window %d", name, sum, inTime*size)
	}
}

// countedOf is how many datagrams of the timed window a receiver has.
func countedOf(r traffic.Report) (n int64) {
	for _, f := range r.Datagrams.Flows {
		n += f.ReceivedCounted
	}
	return n
}

// sending runs a trial whose window is long enough that every flow of its sender sends in it: on a busy machine a
// thread may get no CPU for longer than the window of p, which is then made longer.
func sending(t *testing.T, name string, ends [2]traffic.Workload, p *traffic.Params) (client, server, sender, receiver traffic.Report) {
	t.Helper()
	for {
		client, server = must.Get2(trial(t, ends[0], ends[1], *p))(must.Named(t, name))
		sender, receiver = client, server
		if p.Reverse() {
			sender, receiver = server, client
		}
		idle := slices.ContainsFunc(sender.Datagrams.Flows, func(f traffic.FlowCount) bool { return f.SentCounted == 0 })
		if !idle || p.Duration > 10*time.Second { // consistent fails then
			return client, server, sender, receiver
		}
		p.Duration *= 2
	}
}

func TestUDPStream(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		name   string
		change func(*traffic.Params)
		lossy  bool // unlimited rate: only the counts must agree
	}{
		{"paced", func(*traffic.Params) {}, false},
		{"reverse", func(p *traffic.Params) { p.Direction = study.Reverse }, false},
		{"by packets", func(p *traffic.Params) { p.Rate, p.PacketRate = 0, 2000 }, false},
		{"3 flows", func(p *traffic.Params) { p.Streams = 3 }, false},
		{"3 flows in reverse", func(p *traffic.Params) { p.Streams, p.Direction = 3, study.Reverse }, false},
		{"smallest", func(p *traffic.Params) { p.PayloadSize, p.Rate = 40, 2e6 }, false},
		{"offload", func(p *traffic.Params) { p.Offload, p.Rate = study.On, 100e6 }, false},
		{"no warm-up", func(p *traffic.Params) { p.Warmup = 0 }, false},
		{"unlimited", func(p *traffic.Params) { p.Rate = 0 }, true},
		{"unlimited, 2 flows in reverse", func(p *traffic.Params) { p.Rate, p.Streams, p.Direction = 0, 2, study.Reverse }, true},
		{"unlimited with offload", func(p *traffic.Params) { p.Rate, p.Offload = 0, study.On }, true},
		{"ipv6", func(p *traffic.Params) { p.Address = "[::1]:0" }, false},
	} {
		for _, on := range covering(i) {
			name := fmt.Sprintf("%s, %s", c.name, on)
			p := params("udp_stream")
			p.Duration = 100 * time.Millisecond
			c.change(&p)
			ends := pairings(newStream)[on]
			client, server, sender, receiver := sending(t, name, ends, &p)
			consistent(t, name, p, sender, receiver)
			m, series := ends[1].Metrics(p, client, server)
			must.EqualFor(t, name, len(intervals(p)), len(series.Values))
			for metric, v := range m {
				known, ok := result.MetricNamed(metric)
				// Without a rate a busy machine may lose all of a short window: what was counted decides.
				nothing := c.lossy && countedOf(receiver) == 0
				if !ok || v < 0 || known.Primary && (v == 0) != nothing {
					t.Errorf("%s: metric %s = %g of %d datagrams", name, metric, v, countedOf(receiver))
				}
			}
			must.True(t, c.lossy || m["loss_ratio"] == 0, "%s: loss of %g within 4 MiB of buffer; %+v", name, m["loss_ratio"], receiver.Datagrams)
			must.True(t, *receiver.Datagrams.Foreign == 0 && *receiver.Datagrams.Duplicates == 0 && *receiver.Datagrams.Reordered == 0,
				"%s: loopback made %+v", name, receiver.Datagrams)
			must.True(t, *sender.Datagrams.LargestBurst <= int64(p.Burst), "%s: a burst of %d, the cap is %d", name, *sender.Datagrams.LargestBurst, p.Burst)
		}
	}
}

// The implementation without offload reports that, if offload was requested.
func TestUDPOffloadIsNeverClaimed(t *testing.T) {
	t.Parallel()
	p := params("udp_stream")
	p.Offload = study.On
	w := stream{portable()}
	client, server := must.Get2(trial(t, w, w, p))(t)
	must.True(t, !client.Datagrams.Offload && !server.Datagrams.Offload && len(client.Notes) != 0 && client.Notes[0].Code == "offload_unavailable",
		"offloaded %t and %t, notes %v", client.Datagrams.Offload, server.Datagrams.Offload, client.Notes)
}

// In slices, all slices count and no datagram is lost.
func TestUDPSlices(t *testing.T) {
	t.Parallel()
	for _, of := range []func(socket.UDP) traffic.Workload{newStream, newRR} {
		for pairing, ends := range pairings(of) {
			kind := ends[0].Spec().Kind
			name := kind + ", " + pairing
			p := params(kind)
			p.Slice, p.Rounds = 50*time.Millisecond, 4
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			peer := make(chan traffic.Report, 1)
			served := begin(ctx, t, ends[0], &p, peer)
			session := must.Get(ends[1].(traffic.Sliced).Open(ctx, p))(t)
			for range p.Rounds {
				must.Do(t, session.Slice(ctx, p.Slice))
			}
			client := session.Close()
			peer <- client
			server := <-served
			cancel()
			must.Require(t, server.err == nil, "%s: %v", name, server.err)
			if kind == "udp_stream" {
				consistent(t, name, p, client, server.r)
			}
			m, series := ends[1].Metrics(p, client, server.r)
			must.True(t, len(series.Values) == 4 && series.Interval >= 0.0399 && series.Interval <= 0.0401, "%s: series %+v, want 4 values of 40 ms", name, series)
			var sum float64
			for _, v := range series.Values {
				sum += v / 4
			}
			// The window of exchanges follows those that began in it, the series does not.
			if want := m[series.Metric]; kind == "udp_stream" && (sum < want*0.999 || sum > want*1.001) || want == 0 {
				t.Errorf("%s: the series gives %g, the metric is %g", name, sum, want)
			}
		}
	}
	if _, err := (stream{socket.FastestUDP()}).Open(t.Context(), traffic.Params{Workload: study.Workload{Direction: study.Reverse}}); err == nil {
		t.Error("a reverse trial was opened for slices")
	}
}

// A rate that the sender cannot reach is reported as the generator's limit, never as loss.
func TestUDPRateTooHigh(t *testing.T) {
	t.Parallel()
	p := params("udp_stream")
	p.Rate, p.Duration = 400e9, 150*time.Millisecond
	w := stream{socket.FastestUDP()}
	client, server := must.Get2(trial(t, w, w, p))(t)
	consistent(t, "400 Gbit/s", p, client, server)
	limited := slices.ContainsFunc(client.Notes, func(n result.Note) bool { return n.Code == "generator_limited" })
	must.True(t, limited && client.Window.Missed != 0 && *client.Datagrams.LargestBurst <= 64,
		"notes %v, missed %d of %d, burst %d", client.Notes, client.Window.Missed, client.Window.Slots, *client.Datagrams.LargestBurst)
}

func TestUDPBadParams(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*traffic.Params){
		"use 36 to":        func(p *traffic.Params) { p.PayloadSize = 10 },
		"use 36 to 6550":   func(p *traffic.Params) { p.PayloadSize = 65508 },
		"use at most 1000": func(p *traffic.Params) { p.Streams = 100000 },
		"use at most":      func(p *traffic.Params) { p.Token = strings.Repeat("x", 2000) },
		"udp_stream: ":     func(p *traffic.Params) { p.Address = "nowhere" },
	} {
		for _, n := range []socket.UDP{socket.FastestUDP(), portable()} {
			p := params("udp_stream")
			change(&p)
			_, err := stream{n}.Listen(p)
			_, derr := stream{n}.Dial(t.Context(), p, nil)
			must.True(t, err != nil && derr != nil && strings.Contains(err.Error(), want) && strings.Contains(derr.Error(), want), "want %q, got %v and %v", want, err, derr)
		}
	}
	p := params("udp_rr")
	p.RequestSize = 1
	must.FailFor(t, "a request of 1 byte", must.Err((rr{socket.FastestUDP()}).Listen(p)), "use 16 to")
}
