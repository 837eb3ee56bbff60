package udp

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

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

// Datagrams of another sender, or replayed ones, on the data port are never counted.
func TestUDPForeignDatagrams(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*testing.T){}
	for pairing, ends := range pairings(newStream) {
		tests[pairing] = func(t *testing.T) { foreignDatagrams(t, pairing, ends) }
	}
	loopback.AtOnce(t, tests)
}

func foreignDatagrams(t *testing.T, pairing string, ends [2]traffic.Workload) {
	t.Helper()
	p := params("udp_stream")
	p.Duration, p.Rate = 2*time.Second, 10e6 // the receive buffer holds all of it
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
	time.AfterFunc(200*time.Millisecond, func() {
		spray()
		close(sprayed)
	})
	client := must.Get(ends[1].Dial(ctx, p, nil))(must.Named(t, pairing))
	<-sprayed
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

// A datagram that the peer itself sends twice is a duplicate, and a corrupt one is foreign.
func TestUDPReplay(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
