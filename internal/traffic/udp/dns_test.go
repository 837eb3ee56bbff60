package udp

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/dns"
	"tare/internal/traffic/socket"
)

func newDNS(n socket.UDP) traffic.Workload { return dnsQueries{rr{n}} }

// sumOf are the counts of all flows.
func sumOf(d *traffic.Datagrams) (all traffic.FlowCount) {
	for _, f := range d.Flows {
		all.Sent, all.SentCounted = all.Sent+f.Sent, all.SentCounted+f.SentCounted
		all.Received, all.ReceivedCounted = all.Received+f.Received, all.ReceivedCounted+f.ReceivedCounted
	}
	return all
}

// Every pair of implementations answers every query on every flow, in a closed and an open loop.
func TestUDPDNS(t *testing.T) {
	for pairing, ends := range pairings(newDNS) {
		for _, c := range []struct {
			flows   int
			rate    uint64
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
			if len(client.Datagrams.Flows) != c.flows || len(server.Datagrams.Flows) != c.flows || client.Connections != c.flows || client.Datagrams.Foreign+server.Datagrams.Foreign != 0 {
				t.Errorf("%s: client %+v, server %+v", name, client.Datagrams, server.Datagrams)
				continue
			}
			for i, f := range client.Datagrams.Flows {
				if g := server.Datagrams.Flows[i]; f.Sent != g.Received || g.Sent < f.Received || f.Sent == 0 && c.rate == 0 {
					t.Errorf("%s: flow %d: client %+v, server %+v", name, i, f, g)
				}
			}
			m, series := ends[1].Metrics(p, client, server)
			all := sumOf(client.Datagrams)
			if client.Sent != server.Received || client.Messages != all.Sent || server.Sent/server.Messages <= client.Sent/client.Messages {
				t.Errorf("%s: client %+v, server %+v", name, client, server)
			}
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
	for pairing, ends := range pairings(newDNS) {
		p := params("udp_dns")
		p.Streams, p.Slice, p.Rounds = 4, 20*time.Millisecond, 3
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		peer := make(chan traffic.Report, 1)
		served := begin(ctx, t, ends[0], &p, peer)
		s, err := ends[1].(traffic.Sliced).Open(ctx, p)
		if err != nil {
			t.Fatalf("%s: %v", pairing, err)
		}
		for range p.Rounds {
			if err := s.Slice(ctx, p.Slice); err != nil {
				t.Fatalf("%s: %v", pairing, err)
			}
		}
		client := s.Close()
		peer <- client
		server := <-served
		cancel()
		if w := client.Window; server.err != nil || len(w.Series) != 3 || w.Seconds < 0.047 || w.Seconds > 0.049 || client.Sent != server.r.Received || w.RTT.Count() > sumOf(client.Datagrams).SentCounted {
			t.Errorf("%s: %v, window %+v", pairing, server.err, w)
		}
	}
}

// A query without an answer is lost, in the counts and in the loss ratio, and its flow goes on. An
// answer that is late, duplicated, of another zone or wrong does not count.
func TestUDPDNSLost(t *testing.T) {
	for _, n := range []socket.UDP{socket.FastestUDP(), socket.Portable{}} {
		p := params("udp_dns")
		p.Streams, p.Warmup, p.Duration = 2, 0, 900*time.Millisecond
		zone, err := dns.NewZone(p.Token, false)
		if err != nil {
			t.Fatal(err)
		}
		c := bareServer(t, &p)
		go func() {
			if _, err := acceptHandshake(c, p); err != nil {
				return
			}
			query, answer := make([]byte, maxMessage), make([]byte, zone.AnswerSize())
			for i := 0; ; i++ {
				n, from, err := c.ReadFrom(query)
				if err != nil {
					return
				}
				if !zone.Answer(query[:n], answer) || i%8 == 3 { // every eighth gets no answer
					continue
				}
				wrong := append([]byte(nil), answer...)
				wrong[len(wrong)-1]++
				for _, b := range [][]byte{[]byte("garbage"), wrong, answer, answer} {
					_, _ = c.WriteTo(b, from)
				}
			}
		}()
		w := newDNS(n)
		r, err := w.Dial(t.Context(), p, nil)
		c.Close()
		if err != nil {
			t.Fatal(err)
		}
		all := sumOf(r.Datagrams)
		m, _ := w.Metrics(p, r, traffic.Report{})
		if all.Sent <= all.Received || all.Received == 0 || all.Sent != r.Messages || m["loss_ratio"] <= 0 || m["loss_ratio"] >= 1 || r.Window.Messages > all.Received {
			t.Errorf("%+v, %v", all, m)
		}
		if r.Datagrams.Late == 0 || r.Datagrams.Foreign == 0 || len(r.Notes) == 0 || r.Notes[0].Code != "lost_exchanges" {
			t.Errorf("%+v, notes %v", r.Datagrams, r.Notes)
		}
	}
}

// A peer without the token is refused, and queries that others send, even for a name of the trial,
// are neither counted nor answered.
func TestUDPDNSForeign(t *testing.T) {
	for pairing, ends := range pairings(newDNS) {
		p := params("udp_dns")
		p.Duration = 400 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		peer := make(chan traffic.Report, 1)
		served := begin(ctx, t, ends[0], &p, peer)
		stranger, err := net.Dial("udp", p.Address)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := queryOf(t, p.Token), queryOf(t, "fedcba9876543210")
		hello := message{kind: msgHello, flows: 1, tag: datagramTag(p.Token), token: "fedcba9876543210"}.bytes()
		spray := func() {
			for _, b := range [][]byte{ours, theirs, hello, make([]byte, 1), []byte(strings.Repeat("x", 1400))} {
				if _, err := stranger.Write(b); err != nil {
					t.Error(err)
				}
			}
		}
		spray()
		sprayed := make(chan struct{})
		time.AfterFunc(200*time.Millisecond, func() {
			spray()
			close(sprayed)
		})
		client, err := ends[1].Dial(ctx, p, nil)
		if err != nil {
			t.Fatalf("%s: %v", pairing, err)
		}
		<-sprayed
		peer <- client
		server := <-served
		cancel()
		if err := stranger.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, err := stranger.Read(make([]byte, 100)); err == nil {
			t.Errorf("%s: a stranger was answered with %d bytes", pairing, n)
		}
		stranger.Close()
		if server.err != nil {
			t.Fatalf("%s: %v", pairing, server.err)
		}
		d := server.r.Datagrams
		if server.r.Refused < 5 || int64(server.r.Refused)+d.Foreign != 10 || server.r.Received != client.Sent {
			t.Errorf("%s: refused %d, %+v, received %d of %d", pairing, server.r.Refused, d, server.r.Received, client.Sent)
		}
	}
}

func queryOf(t *testing.T, token string) []byte {
	t.Helper()
	z, err := dns.NewZone(token, false)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, z.QuerySize())
	z.Query(b, 0, 1)
	return b
}

// Both endpoints of a cancelled trial end at once, and a client whose server exits fails.
func TestUDPDNSEnds(t *testing.T) {
	for pairing, ends := range pairings(newDNS) {
		p := params("udp_dns")
		p.Streams, p.Duration = 3, time.Minute
		ctx, cancel := context.WithCancelCause(t.Context())
		served := begin(ctx, t, ends[0], &p, make(chan traffic.Report))
		time.AfterFunc(150*time.Millisecond, func() { cancel(context.Canceled) })
		_, err := ends[1].Dial(ctx, p, nil)
		<-served
		if err == nil {
			t.Errorf("%s: cancelled, but the client returned no error", pairing)
		}
		c := bareServer(t, &p)
		go func() {
			_, _ = acceptHandshake(c, p)
			c.Close()
		}()
		if _, err := ends[1].Dial(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "has exited") {
			t.Errorf("%s: %v", pairing, err)
		}
	}
}

// The fast implementation does not allocate per query.
func TestUDPDNSAllocatesNothing(t *testing.T) {
	allocs := func(duration time.Duration) (float64, int64) {
		var sent int64
		p := params("udp_dns")
		p.Streams, p.Warmup, p.Duration = 4, 0, duration
		n := testing.AllocsPerRun(1, func() {
			client, _, err := trial(t, newDNS(socket.FastestUDP()), newDNS(socket.FastestUDP()), p)
			if err != nil {
				t.Error(err)
			}
			sent = client.Messages
		})
		return n, sent
	}
	few, a := allocs(20 * time.Millisecond)
	many, b := 0.0, int64(0)
	for duration := 200 * time.Millisecond; duration < 10*time.Second && b-a < 1000; duration *= 2 { // a busy machine may send few in a while
		many, b = allocs(duration)
	}
	if more := b - a; more < 1000 || many-few > float64(more)/50 {
		t.Errorf("%g allocations for %d queries, %g for %d", few, a, many, b)
	}
}
