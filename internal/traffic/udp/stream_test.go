package udp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// params is a short trial over loopback.
func params(kind string) traffic.Params {
	return traffic.Params{
		Workload: study.Workload{Kind: kind, Streams: 1, PayloadSize: 1400, RequestSize: 16, ResponseSize: 16, Rate: 50e6, Burst: 64, SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.Buffer(4 << 20)},
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
func newRR(n socket.UDP) traffic.Workload     { return rr{n} }

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
	p := params("udp_stream")
	p.Offload = study.On
	w := stream{portable()}
	client, server := must.Get2(trial(t, w, w, p))(t)
	must.True(t, !client.Datagrams.Offload && !server.Datagrams.Offload && len(client.Notes) != 0 && client.Notes[0].Code == "offload_unavailable",
		"offloaded %t and %t, notes %v", client.Datagrams.Offload, server.Datagrams.Offload, client.Notes)
}

// In slices, all slices count and no datagram is lost.
func TestUDPSlices(t *testing.T) {
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

func TestUDPRR(t *testing.T) {
	for pairing, ends := range pairings(newRR) {
		for _, rate := range []int{0, 500} {
			p := params("udp_rr")
			p.TransactionRate, p.ResponseSize = rate, 600
			name := fmt.Sprintf("%s, rate %d", pairing, rate)
			client, server, err := trial(t, ends[0], ends[1], p)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			m, series := ends[1].Metrics(p, client, server)
			must.True(t, client.Sent == server.Received && server.Sent == client.Received && client.Messages == server.Messages && m["loss_ratio"] == 0,
				"%s: client %+v, server %+v", name, client, server)
			// A machine that schedules nothing for longer than the trial has no exchange in the window.
			w := client.Window
			if len(series.Values) != 3 || (m["transaction_rate"] > 0) != (w.Messages > 0) || (m["rtt_p50"] > 0) != (w.RTT.Count() > 0) || m["rtt_max"] < m["rtt_p999"] || m["rtt_p999"] < m["rtt_p50"] {
				t.Errorf("%s: %v, %v", name, m, series)
			}
			if own := client.OwnTime; (own != nil) != (rate == 0) || own != nil && !(*own > 0 && *own < 1e-3) {
				t.Errorf("%s: own time %v", name, own)
			}
			if rate > 0 && (w.Slots != 125 || w.RTT.Count()+w.Missed > w.Slots) {
				t.Errorf("%s: %d exchanges and %d missed in %d slots, want 125", name, w.RTT.Count(), w.Missed, w.Slots)
			}
		}
	}
}

// bareServer is a peer that does the handshake and then what the test needs.
func bareServer(t *testing.T, p *traffic.Params) *net.UDPConn {
	t.Helper()
	c := must.Get(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	p.Address = c.LocalAddr().String()
	return c
}

// acceptHandshake answers the handshake until the client is ready.
func acceptHandshake(c *net.UDPConn, p traffic.Params) (net.Addr, error) {
	buf := make([]byte, maxMessage)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return nil, err
		}
		m, ok := parseMessage(buf[:n])
		if !ok || !hasToken(m, p.Token) {
			continue
		}
		answer := message{kind: msgWelcome, flow: m.flow, flows: m.flows, tag: m.tag}
		if m.kind == msgReady {
			answer.kind = msgGo
		}
		if _, err := c.WriteTo(answer.bytes(), from); err != nil || m.kind == msgReady {
			return from, err
		}
	}
}

// An exchange without a response is lost, in the counts and in the loss ratio. A response that is
// late, duplicated or from another address does not count.
func TestUDPRRLost(t *testing.T) {
	p := params("udp_rr")
	p.Warmup, p.Duration = 0, 700*time.Millisecond
	c := bareServer(t, &p)
	defer c.Close()
	go func() {
		to, err := acceptHandshake(c, p)
		if err != nil {
			return
		}
		buf := make([]byte, maxMessage)
		for i := 0; ; i++ {
			n, _, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if n != 16 || i%8 == 3 { // every eighth gets no response
				continue
			}
			for _, b := range [][]byte{[]byte("garbage"), buf[:n], buf[:n]} {
				_, _ = c.WriteTo(b, to)
			}
		}
	}()
	w := rr{socket.FastestUDP()}
	r := must.Get(w.Dial(t.Context(), p, nil))(t)
	f := r.Datagrams.Flows[0]
	lost := f.Sent - f.Received
	m, _ := w.Metrics(p, r, traffic.Report{})
	must.True(t, lost != 0 && f.Sent == r.Messages && m["loss_ratio"] == float64(f.SentCounted-f.ReceivedCounted)/float64(f.SentCounted) && m["loss_ratio"] > 0,
		"%d lost, %v, %+v", lost, m, r)
	must.True(t, *r.Datagrams.Duplicates != 0 && *r.Datagrams.Late == 0 && *r.Datagrams.Foreign != 0 && len(r.Notes) != 0, "%+v, notes %v", r.Datagrams, r.Notes)
}

// Datagrams of another sender, or replayed ones, on the data port are never counted.
func TestUDPForeignDatagrams(t *testing.T) {
	for pairing, ends := range pairings(newStream) {
		p := params("udp_stream")
		p.Duration = 400 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		peer := make(chan traffic.Report, 1)
		served := begin(ctx, t, ends[0], &p, peer)
		stranger := must.Get(net.Dial("udp", p.Address))(t)
		old := make([]byte, 1400) // of another trial
		(&header{tag: datagramTag("another"), flags: flagCounted}).put(old)
		ours := make([]byte, 1400) // of this one, but from another address
		(&header{tag: datagramTag(p.Token), seq: 5, flags: flagCounted}).put(ours)
		hello := message{kind: msgHello, flows: 1, tag: datagramTag(p.Token), token: "fedcba9876543210"}.bytes()
		bye := message{kind: msgBye, flows: 1, tag: datagramTag(p.Token), token: p.Token}.bytes() // late, of an earlier client with this token
		spray := func() {
			for _, b := range [][]byte{old, ours, hello, bye, []byte("GET / HTTP/1.1\r\n\r\n"), make([]byte, 1), make([]byte, 1400)} {
				if _, err := stranger.Write(b); err != nil {
					t.Error(err)
				}
			}
		}
		spray()
		sprayed := make(chan struct{})
		during := time.AfterFunc(200*time.Millisecond, func() {
			spray()
			close(sprayed)
		})
		client := must.Get(ends[1].Dial(ctx, p, nil))(must.Named(t, pairing))
		if during.Stop() {
			spray()
		} else {
			<-sprayed
		}
		peer <- client
		server := <-served
		cancel()
		stranger.Close()
		must.Require(t, server.err == nil, "%s: %v", pairing, server.err)
		consistent(t, pairing, p, client, server.r)
		d := server.r.Datagrams
		must.True(t, server.r.Refused >= 7 && int64(server.r.Refused)+*d.Foreign == 14 && *d.Duplicates == 0 && *d.Reordered == 0 && server.r.Received == client.Sent,
			"%s: refused %d, %+v, received %d of %d", pairing, server.r.Refused, d, server.r.Received, client.Sent)
	}
}

// A datagram that the peer itself sends twice is a duplicate, and a corrupt one is foreign.
func TestUDPReplay(t *testing.T) {
	p := params("udp_stream")
	w := stream{socket.FastestUDP()}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	peer := make(chan traffic.Report, 1)
	served := begin(ctx, t, w, &p, peer)
	to := must.Get(checkParams(p, headerSize))(t)
	e := must.Get(connectClient(ctx, portable(), p, to, true))(t)
	defer e.wire.Close()
	b := make([]byte, p.PayloadSize)
	for _, seq := range []uint64{0, 1, 3, 2, 3, 3} {
		(&header{tag: e.tag, seq: seq, sent: e.clock.now(), flags: flagCounted}).put(b)
		must.Do(t, e.wire.SendOne(0, b))
	}
	b[9]++
	for _, garbled := range [][]byte{b, b[:100], b[:20]} {
		must.Do(t, e.wire.SendOne(0, garbled))
	}
	peer <- traffic.Report{Window: traffic.Window{Seconds: 1}, Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Sent: 5, SentCounted: 5}}}}
	a := <-served
	must.Do(t, a.err)
	d := a.r.Datagrams
	if want := (traffic.FlowCount{Received: 4, ReceivedCounted: 4}); d.Flows[0] != want || *d.Duplicates != 2 || *d.Reordered != 1 || *d.ReorderExtent != 1 || *d.Foreign != 3 {
		t.Errorf("%+v", d)
	}
}

// relay passes the datagrams of one client to a server and back, each twice.
func relay(t *testing.T, server string) (address string) {
	t.Helper()
	near := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	far := must.Get(net.Dial("udp", server))(t)
	t.Cleanup(func() { near.Close(); far.Close() })
	var client atomic.Pointer[net.Addr]
	go func() {
		for b := make([]byte, 64<<10); ; {
			n, from, err := near.ReadFrom(b)
			if err != nil {
				return
			}
			client.Store(&from)
			for range 2 {
				_, _ = far.Write(b[:n]) // what is lost is lost
			}
		}
	}()
	go func() {
		for b := make([]byte, 64<<10); ; {
			n, err := far.Read(b)
			if err != nil {
				return
			}
			for range 2 {
				_, _ = near.WriteTo(b[:n], *client.Load())
			}
		}
	}()
	return near.LocalAddr().String()
}

// Exchanges over a network that doubles every datagram count once, and the copies are known.
func TestUDPDoubled(t *testing.T) {
	for kind, w := range map[string]traffic.Workload{"udp_rr": newRR(socket.FastestUDP()), "udp_dns": newDNS(socket.FastestUDP())} {
		p := params(kind)
		p.TransactionRate = 200
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		toServer := make(chan traffic.Report, 1)
		served := begin(ctx, t, w, &p, toServer)
		p.Address = relay(t, p.Address)
		client := must.Get(w.Dial(ctx, p, make(chan traffic.Report)))(t)
		toServer <- client
		s := <-served
		cancel()
		must.Do(t, s.err)
		c, d := client.Datagrams.Total(), s.r.Datagrams.Total()
		// A copy of the last request may still be on its way when the server ends. Where the relay got no CPU for so
		// long that an exchange was lost, its response is late, but for that of the last.
		lost := c.Sent - c.Received
		if c.Received == 0 || lost < 0 || d.Received != c.Sent || d.Sent != d.Received || *s.r.Datagrams.Duplicates < c.Sent-1 ||
			kind == "udp_rr" && (*client.Datagrams.Duplicates == 0 || *client.Datagrams.Late > lost || *client.Datagrams.Late < lost-1) {
			t.Errorf("%s: client %+v, server %+v", kind, client.Datagrams, s.r.Datagrams)
		}
	}
}

// A peer without the token gets no reply: both endpoints fail with a reason.
func TestUDPWrongToken(t *testing.T) {
	t.Setenv(timelimit.Variable, "1") // the client waits for the whole limit
	tests := map[string]func(*testing.T){}
	for pairing, ends := range pairings(newStream) {
		tests[pairing] = func(t *testing.T) {
			p := params("udp_stream")
			ctx, cancel := context.WithCancelCause(t.Context())
			served := begin(ctx, t, ends[0], &p, nil)
			p.Token = "fedcba9876543210"
			must.Fail(t, must.Err(ends[1].Dial(ctx, p, nil)), "0 of 1 flows were answered")
			cancel(errors.New("enough"))
			must.Fail(t, (<-served).err, "without the trial's token")
		}
	}
	loopback.AtOnce(t, tests)
}

// If the receiver exits, the sender fails before its time is over.
func TestUDPReceiverExits(t *testing.T) {
	for _, w := range []traffic.Workload{stream{socket.FastestUDP()}, stream{portable()}, rr{socket.FastestUDP()}} {
		p := params(w.Spec().Kind)
		p.Duration = time.Minute
		c := bareServer(t, &p)
		go func() {
			_, err := acceptHandshake(c, p)
			must.True(t, err == nil, "%v", err)
			c.Close()
		}()
		must.FailFor(t, p.Kind, must.Err(w.Dial(t.Context(), p, nil)), "has exited")
	}
}

// If the sender exits, or the controller does not report what was sent, the receiver ends with its
// context.
func TestUDPSenderExits(t *testing.T) {
	for pairing, ends := range pairings(newStream) {
		p := params("udp_stream")
		ctx, cancel := context.WithCancelCause(t.Context())
		served := begin(ctx, t, ends[0], &p, make(chan traffic.Report))
		must.Get(ends[1].Dial(ctx, p, nil))(t)
		cancel(errors.New("enough"))
		must.FailFor(t, pairing, (<-served).err, "the sender did not report how many it sent: enough")
	}
}

// No report of a sender makes the receiver compute a negative loss.
func TestUDPWrongPeerReport(t *testing.T) {
	for _, c := range []struct {
		tell traffic.Report
		want string
	}{
		{traffic.Report{}, "different number of flows"},
		{traffic.Report{Datagrams: &traffic.Datagrams{Flows: make([]traffic.FlowCount, 2)}}, "different number of flows"},
		{traffic.Report{Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Sent: 1, SentCounted: 1}}}}, "counts are inconsistent"},
	} {
		p := params("udp_stream")
		w := stream{socket.FastestUDP()}
		peer := make(chan traffic.Report, 1)
		served := begin(t.Context(), t, w, &p, peer)
		must.Get(w.Dial(t.Context(), p, nil))(t)
		peer <- c.tell
		must.Fail(t, (<-served).err, c.want)
	}
}

// Both endpoints of a cancelled trial end at once.
func TestUDPCancelled(t *testing.T) {
	for _, of := range []func(socket.UDP) traffic.Workload{newStream, newRR} {
		for pairing, ends := range pairings(of) {
			for _, reverse := range []bool{false, true} {
				p := params(ends[0].Spec().Kind)
				p.Duration, p.Direction = time.Minute, studytest.Direction(reverse)
				ctx, cancel := context.WithCancelCause(t.Context())
				served := begin(ctx, t, ends[0], &p, make(chan traffic.Report))
				time.AfterFunc(150*time.Millisecond, func() { cancel(errors.New("enough")) })
				_, err := ends[1].Dial(ctx, p, make(chan traffic.Report))
				if a := <-served; err == nil || a.err == nil && p.Kind != "udp_rr" {
					t.Errorf("%s, %s, reverse %t: cancelled, but the client returned %v and the server %v", p.Kind, pairing, reverse, err, a.err)
				}
			}
		}
	}
}

// A rate that the sender cannot reach is reported as the generator's limit, never as loss.
func TestUDPRateTooHigh(t *testing.T) {
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
