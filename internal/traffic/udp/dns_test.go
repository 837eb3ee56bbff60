package udp

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/dns"
	"tare/internal/traffic/socket"
)

func newDNS(n socket.UDP) traffic.Workload { return dnsQueries{rr{n}} }

// Every pair of implementations answers every query on every flow, in a closed and an open loop.
func TestUDPDNS(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for pairing, ends := range pairings(newDNS) {
		for _, c := range []struct {
			flows   int
			rate    int
			address string
		}{{1, 0, "127.0.0.1:0"}, {1, 500, "127.0.0.1:0"}, {8, 0, "[::1]:0"}, {8, 500, "127.0.0.1:0"}} {
			name := fmt.Sprintf("%s, %d flows, rate %d", pairing, c.flows, c.rate)
			p := params("udp_dns")
			p.Streams, p.TransactionRate, p.Address = c.flows, c.rate, c.address
			client, server, err := trial(t, ends[0], ends[1], p)
			for i := 0; err == nil && client.Window.Messages == 0 && i < 5; i++ { // this machine was not scheduled
				client, server, err = trial(t, ends[0], ends[1], p)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if len(client.Datagrams.Flows) != c.flows || len(server.Datagrams.Flows) != c.flows || client.Connections != c.flows || *client.Datagrams.Foreign+*server.Datagrams.Foreign != 0 {
				t.Errorf("%s: client %+v, server %+v", name, client.Datagrams, server.Datagrams)
				continue
			}
			for i, f := range client.Datagrams.Flows {
				if g := server.Datagrams.Flows[i]; f.Sent != g.Received || g.Sent < f.Received || f.Sent == 0 && c.rate == 0 {
					t.Errorf("%s: flow %d: client %+v, server %+v", name, i, f, g)
				}
			}
			m, series := ends[1].Metrics(p, client, server)
			all := client.Datagrams.Total()
			must.True(t, client.Sent == server.Received && client.Messages == all.Sent && server.Sent/server.Messages > client.Sent/client.Messages,
				"%s: client %+v, server %+v", name, client, server)
			if len(series.Values) != 3 || m["transaction_rate"] <= 0 || m["rtt_p50"] <= 0 || m["rtt_max"] < m["rtt_p99"] || m["loss_ratio"] != float64(all.SentCounted-all.ReceivedCounted)/float64(all.SentCounted) {
				t.Errorf("%s: %v, %v", name, m, series)
			}
			if w := client.Window; c.rate > 0 && (w.Slots != 125 || w.RTT.Count()+w.Missed > w.Slots || all.SentCounted+w.Missed != w.Slots) {
				t.Errorf("%s: %d exchanges of %d queries and %d missed in %d slots, want 125", name, w.RTT.Count(), all.SentCounted, w.Missed, w.Slots)
			}
		}
	}
}

// The slices of a trial share its flows, and each counts its own window.
func TestUDPDNSSlices(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for pairing, ends := range pairings(newDNS) {
		p := params("udp_dns")
		p.Streams, p.Slice, p.Rounds = 4, 20*time.Millisecond, 3
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		peer := make(chan traffic.Report, 1)
		served := begin(ctx, t, ends[0], &p, peer)
		s := must.Get(ends[1].(traffic.Sliced).Open(ctx, p))(must.Named(t, pairing))
		for range p.Rounds {
			must.Do(must.Named(t, pairing), s.Slice(ctx, p.Slice))
		}
		client := s.Close()
		peer <- client
		server := <-served
		cancel()
		if w := client.Window; server.err != nil || len(w.Series) != 3 || w.Seconds <= 0 || w.Messages != w.RTT.Count() || client.Sent != server.r.Received || w.RTT.Count() > client.Datagrams.Total().SentCounted {
			t.Errorf("%s: %v, window %+v", pairing, server.err, w)
		}
	}
}

// longestWindow is the length beyond which no window is doubled in which too few exchanges were made.
const longestWindow = 20 * time.Second

// losesQueries serves udp_dns, but for one query in so many, with answers that count for nothing before and after each. It counts in seen.
func losesQueries(t *testing.T, p *traffic.Params, oneIn int64, seen *atomic.Int64) net.PacketConn {
	zone := must.Get(dns.NewZone(p.Token, false))(t)
	c := bareServer(t, p)
	go func() {
		if _, err := acceptHandshake(c, *p); err != nil {
			return
		}
		query, answer := make([]byte, maxMessage), make([]byte, zone.AnswerSize())
		for {
			n, from, err := c.ReadFrom(query)
			if err != nil {
				return
			}
			if i := seen.Add(1) - 1; !zone.Answer(query[:n], answer) || i%oneIn == 3 {
				continue
			}
			wrong := append([]byte(nil), answer...)
			wrong[len(wrong)-1]++
			for _, b := range [][]byte{[]byte("garbage"), wrong, answer, answer} {
				_, _ = c.WriteTo(b, from)
			}
		}
	}()
	return c
}

// A lost query takes its flow the time that it waits, in slices too, which are shorter.
func TestUDPDNSLostTakesTime(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range []socket.UDP{socket.FastestUDP(), portable()} {
		p := params("udp_dns")
		p.Streams, p.Slice, p.Rounds = 2, 20*time.Millisecond, 3
		for lost := int64(0); lost == 0; { // those of the first part of a slice do not count
			c := losesQueries(t, &p, 97, new(atomic.Int64))
			s := must.Get(newDNS(n).(traffic.Sliced).Open(t.Context(), p))(t)
			for range p.Rounds {
				must.Do(t, s.Slice(t.Context(), p.Slice))
			}
			r := s.Close()
			c.Close()
			all := r.Datagrams.Total()
			lost = all.SentCounted - all.ReceivedCounted
			must.True(t, r.Window.Seconds*float64(p.Streams) >= replyTimeout.Seconds()*float64(lost) && r.Window.Messages == all.ReceivedCounted, "%d lost, %+v", lost, r.Window)
		}
	}
}

// A query without an answer is lost, in the counts and in the loss ratio, and its flow goes on. An
// answer that is late, duplicated, of another zone or wrong does not count.
func TestUDPDNSLost(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range []socket.UDP{socket.FastestUDP(), portable()} {
		p := params("udp_dns")
		p.Streams, p.Warmup, p.Duration = 2, 0, 200*time.Millisecond
		w := newDNS(n)
		var r traffic.Report
		var all traffic.FlowCount
		for ; ; p.Duration *= 2 {
			var seen atomic.Int64
			c := losesQueries(t, &p, 8, &seen)
			var err error
			r, err = w.Dial(t.Context(), p, nil)
			c.Close()
			must.Do(t, err)
			all = r.Datagrams.Total()
			// By then each flow has lost a query and one has gone on, and one has read what follows an answer. How soon that is depends on the machine.
			if seen.Load() >= 16 && all.Received >= 3 || p.Duration > longestWindow {
				break
			}
		}
		m, _ := w.Metrics(p, r, traffic.Report{})
		must.True(t, all.Sent > all.Received && all.Received != 0 && all.Sent == r.Messages && m["loss_ratio"] > 0 && m["loss_ratio"] < 1 && r.Window.Messages <= all.Received,
			"%+v, %v", all, m)
		must.True(t, *r.Datagrams.Late != 0 && *r.Datagrams.Foreign != 0 && len(r.Notes) != 0 && r.Notes[0].Code == "lost_exchanges", "%+v, notes %v", r.Datagrams, r.Notes)
	}
}

// A peer without the token is refused, and queries that others send, even for a name of the trial,
// are neither counted nor answered.
func TestUDPDNSForeign(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for pairing, ends := range pairings(newDNS) {
		p := params("udp_dns")
		p.Duration = 400 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		peer := make(chan traffic.Report, 1)
		served := begin(ctx, t, ends[0], &p, peer)
		stranger := must.Get(net.Dial("udp", p.Address))(t)
		ours, theirs := queryOf(t, p.Token), queryOf(t, "fedcba9876543210")
		hello := message{kind: msgHello, flows: 1, tag: datagramTag(p.Token), token: "fedcba9876543210"}.bytes()
		sent := 0
		spray := func() {
			for _, b := range [][]byte{ours, theirs, hello, make([]byte, 1), []byte(strings.Repeat("x", 1400))} {
				if _, err := stranger.Write(b); err == nil { // else the server has ended
					sent++
				}
			}
		}
		// Some are sent before the trial, for certain, and some in it.
		spray()
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for every := time.Tick(10 * time.Millisecond); ; {
				select {
				case <-stop:
					return
				case <-every:
					spray()
				}
			}
		}()
		client, err := ends[1].Dial(ctx, p, nil)
		close(stop)
		<-stopped
		must.Do(must.Named(t, pairing), err)
		peer <- client
		server := <-served
		cancel()
		must.Do(t, stranger.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
		must.FailFor(t, fmt.Sprintf("%s: a stranger was answered with", pairing), must.Err(stranger.Read(make([]byte, 100))))
		stranger.Close()
		must.Require(t, server.err == nil, "%s: %v", pairing, server.err)
		d := server.r.Datagrams
		// The last ones may have come too late to be looked at.
		must.True(t, server.r.Refused >= 5 && *d.Foreign != 0 && int64(server.r.Refused)+*d.Foreign <= int64(sent) && server.r.Received == client.Sent,
			"%s: refused %d of %d, %+v, received %d of %d", pairing, server.r.Refused, sent, d, server.r.Received, client.Sent)
	}
}

func queryOf(t *testing.T, token string) []byte {
	t.Helper()
	z := must.Get(dns.NewZone(token, false))(t)
	b := make([]byte, z.QuerySize())
	z.Query(b, 0, 1)
	return b
}

// Both endpoints of a cancelled trial end at once, and a client whose server exits fails.
func TestUDPDNSEnds(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for pairing, ends := range pairings(newDNS) {
		p := params("udp_dns")
		p.Streams, p.Duration = 3, time.Minute
		ctx, cancel := context.WithCancelCause(t.Context())
		served := begin(ctx, t, ends[0], &p, make(chan traffic.Report))
		time.AfterFunc(150*time.Millisecond, func() { cancel(context.Canceled) })
		_, err := ends[1].Dial(ctx, p, nil)
		<-served
		must.FailFor(t, fmt.Sprintf("%s: cancelled, but the client returned no error", pairing), err)
		c := bareServer(t, &p)
		go func() {
			_, _ = acceptHandshake(c, p)
			c.Close()
		}()
		must.FailFor(t, pairing, must.Err(ends[1].Dial(t.Context(), p, nil)), "has exited")
	}
}

// The fast implementation does not allocate per query.
func TestUDPDNSAllocatesNothing(t *testing.T) {
	loopback.Room(t)
	for _, flows := range []int{1, 8} {
		p := params("udp_dns")
		p.Streams, p.Warmup, p.Duration = flows, 0, time.Second
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, _ := must.Get2(trial(t, newDNS(socket.FastestUDP()), newDNS(socket.FastestUDP()), p))(t)
		runtime.ReadMemStats(&after)
		// Two zones are made, with some allocations for each name.
		if got := int64(after.Mallocs - before.Mallocs); runtime.GOOS == "linux" && got > 40*dns.Names+c.Messages/10 {
			t.Errorf("%d flows: %d allocations in %d exchanges", flows, got, c.Messages)
		}
	}
}

// stalledWire answers every query, but the thread that reads has no CPU for longer than an answer may
// take: all answers have arrived by then, and are read one at a time.
type stalledWire struct {
	socket.UDPWire
	zone    *dns.Zone
	answers []socket.Inbox
	stall   time.Duration // before the next reading
	reads   int
}

type stalledFlow struct {
	w    *stalledWire
	flow int
}

func (w *stalledWire) Messenger(flow int) socket.Messenger { return stalledFlow{w, flow} }

func (f stalledFlow) Send(b []byte) (int, error) {
	answer := make([]byte, f.w.zone.AnswerSize())
	f.w.zone.Answer(b, answer)
	f.w.answers = append(f.w.answers, socket.Inbox{Flow: f.flow, N: 1, Bufs: [][]byte{answer}, Sizes: []int{len(answer)}})
	return len(b), nil
}

func (stalledFlow) Recv([]byte) (int, error) { return 0, socket.ErrAgain }

func (w *stalledWire) Receive(in *socket.Inbox) error {
	time.Sleep(w.stall)
	w.stall = 0
	if len(w.answers) == 0 {
		return socket.ErrAgain
	}
	*in, w.answers = w.answers[0], w.answers[1:]
	w.reads++
	return nil
}

func (w *stalledWire) ReceiveWithin(in *socket.Inbox, _ time.Duration) error { return w.Receive(in) }

// A client that had no CPU reads the answers that wait before it gives up queries.
func TestUDPDNSStalled(t *testing.T) {
	t.Parallel()
	p, zone := must.Get2(dnsParams(traffic.Params{Workload: study.Workload{Kind: "udp_dns", Streams: 8}, Address: "127.0.0.1:1", Token: "0123456789abcdef", CPU: -1}))(t)
	w := &stalledWire{zone: zone, stall: replyTimeout + 400*time.Millisecond}
	s := &dnsClient{endpoint: &endpoint{wire: w, clock: newClock()}, p: p, net: portable(), zone: zone, hist: traffic.NewDistribution(), query: make([]byte, p.RequestSize),
		in: socket.NewInbox(maxMessage, false), flows: make([]dnsFlow, p.Streams), counts: make([]traffic.FlowCount, p.Streams), restore: func() {}}
	s.senders = sendersOf(w, p.Streams)
	must.Do(t, s.Drive(t.Context(), 0, 500*time.Millisecond))
	all := traffic.CountDatagrams(s.counts).Total()
	must.True(t, all.Sent == 8 && all.Received == 8 && all.ReceivedCounted == 8 && s.late+s.foreign == 0 && w.reads == 8,
		"%+v, late %d, foreign %d, %d answers read", all, s.late, s.foreign, w.reads)
}
