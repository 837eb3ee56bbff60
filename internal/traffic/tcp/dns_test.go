package tcp

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/dns"
)

// Every pair of implementations answers every query on every flow, with and without a schedule and
// slices, and both endpoints count the same.
func TestDNSConformance(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, x := range exchanges([][2]int{{0, 0}, {0, 0}}) { // the sizes follow from the zone
		p := loopback.Params("tcp_dns")
		p.Streams = x.flows
		p.Warmup, p.Duration = 10*time.Millisecond, 60*time.Millisecond
		if x.other {
			p.TransactionRate = 500
		} else {
			p.Slice, p.Rounds = 20*time.Millisecond, 3
		}
		name := fmt.Sprintf("%s, rate %d, %d slices", x, p.TransactionRate, p.Rounds)
		p, c, s, err := loopback.Grown(t.Context(), dnsQueries{rr{x.on.Client}}, dnsQueries{rr{x.on.Server}}, p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c.Notes = nil // slots may be missed
		sized, _, err := dnsParams(p)
		must.Do(t, err)
		rrAgree(t, name, sized, c, s)
		must.True(t, c.Connections == x.flows && s.Connections == x.flows && sized.RequestSize >= 40 && sized.ResponseSize > sized.RequestSize,
			"%s: %d and %d connections, messages of %d and %d bytes", name, c.Connections, s.Connections, sized.RequestSize, sized.ResponseSize)
	}
}

// A message that is sent in pieces is answered whole.
func TestDNSInPieces(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		p := loopback.Params("tcp_dns")
		p.Streams = 2
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		address, end := loopback.Serve(ctx, t, dnsQueries{rr{n}}, p)
		var all []net.Conn
		for range p.Streams {
			c := must.Get(net.Dial("tcp", address))(t)
			must.Get(c.Write([]byte(p.Token)))(t)
			all = append(all, c)
		}
		sized, ours := must.Get2(dnsParams(p))(t)
		query, answer := make([]byte, sized.RequestSize), make([]byte, sized.ResponseSize)
		ours.request(1, query)
		for _, c := range all {
			if _, err := io.ReadFull(c, answer[:1]); err != nil || answer[0] != goByte {
				t.Fatal(err)
			}
		}
		for _, piece := range [][]byte{query[:1], query[1:20], query[20:]} {
			must.Get(all[1].Write(piece))(t)
			time.Sleep(5 * time.Millisecond) // so that they arrive one by one; the test holds if they do not
		}
		must.Get(io.ReadFull(all[1], answer))(must.Named(t, n.name))
		must.Do(must.Named(t, n.name), ours.response(1, answer))
		for _, c := range all {
			c.Close()
		}
		if a := <-end; a.Err != nil || a.Messages != 1 {
			t.Errorf("%s: %d answered, %v", n.name, a.Messages, a.Err)
		}
		cancel()
	}
}

// A server that answers something else, and a client that sends something else, end the trial with a
// reason.
func TestDNSBadPeers(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		for _, flows := range []int{1, 3} {
			p := loopback.Params("tcp_dns")
			p.Streams = flows
			sized, _, err := dnsParams(p)
			must.Do(t, err)
			l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			go answerWrongly(l, sized)
			bad := p
			bad.Address = l.Addr().String()
			_, err = dnsQueries{rr{n}}.Dial(t.Context(), bad, nil)
			l.Close()
			must.FailFor(t, fmt.Sprintf("%s, %d flows", n.name, flows), err, "receive response: it is not the answer to the query")

			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			address, end := loopback.Serve(ctx, t, dnsQueries{rr{n}}, p)
			for range flows {
				c := must.Get(net.Dial("tcp", address))(t)
				defer c.Close()
				must.Get(c.Write([]byte(p.Token + strings.Repeat("x", int(sized.RequestSize)))))(t)
			}
			must.FailFor(t, fmt.Sprintf("%s, %d flows", n.name, flows), (<-end).Err, "receive request: it is not a query of this trial")
			cancel()
		}
	}
}

// answerWrongly serves a zone of another trial.
func answerWrongly(l net.Listener, p traffic.Params) {
	zone, err := dns.NewZone("fedcba9876543210", false)
	if err != nil {
		return
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			b := make([]byte, max(int(p.RequestSize), len(p.Token)))
			if _, err := io.ReadFull(c, b[:len(p.Token)]); err != nil {
				return
			}
			_, _ = c.Write([]byte{goByte})
			if _, err := io.ReadFull(c, b[:p.RequestSize]); err != nil {
				return
			}
			answer, query := make([]byte, p.ResponseSize), make([]byte, zone.QuerySize())
			zone.Query(query, 0, 1)
			zone.Answer(query, answer[lengthSize:])
			answer[1] = byte(len(answer) - lengthSize)
			_, _ = c.Write(answer)
			_, _ = io.ReadFull(c, b)
		}()
	}
}
