package agent_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/timelimit"
)

// foreignPeers open connections to a server's port for probes, without its token, and then start the
// client's probe.
type foreignPeers struct {
	t     *testing.T
	conns []net.Conn
}

// dial waits until the port is open, and adds a connection.
func (f *foreignPeers) dial(address string) net.Conn {
	for {
		c, err := net.Dial("tcp", address)
		if err == nil {
			f.conns = append(f.conns, c)
			f.t.Cleanup(func() { c.Close() })
			return c
		}
		select {
		case <-f.t.Context().Done():
			f.t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
}

// probeBehind checks whether client and server reach each other through a relay that starts foreign
// before it passes on the first connection. So the foreign peers always come first.
func probeBehind(t *testing.T, foreign func(f *foreignPeers, server string), wait time.Duration) (agent.Reachability, error) {
	t.Helper()
	client, server := begin(t), begin(t)
	fixed := nstest.FreePort(t)
	relay := must.Get(net.Listen("tcp", local))(t)
	var passing sync.WaitGroup
	t.Cleanup(func() { relay.Close(); passing.Wait() })
	var first sync.Once
	passing.Go(func() {
		for {
			in, err := relay.Accept()
			if err != nil {
				return
			}
			first.Do(func() { foreign(&foreignPeers{t: t}, fixed.String()) })
			passing.Go(func() { pass(in, fixed.String()) })
		}
	})
	return agent.CheckReachability(t.Context(), client, server, "tcp", fixed, netip.MustParseAddrPort(relay.Addr().String()), wait)
}

// pass copies in both directions.
func pass(in net.Conn, to string) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(in, out)
}

// Silent connections do not delay a probe, however many there are, and are counted.
func TestSilentPeersDoNotDelayProbe(t *testing.T) {
	t.Parallel()
	const silent = 200 // more than may wait at once
	met, err := probeBehind(t, func(f *foreignPeers, server string) {
		for range silent {
			f.dial(server)
		}
	}, timelimit.Scaled(5*time.Second)) // one after the other they would take 1 s each
	must.True(t, err == nil && met.Refused == silent, "refused %d, want %d: %v", met.Refused, silent, err)
}

// A peer that sends without end is refused after a token's length, whatever it would still send.
func TestEndlessLineToProbePort(t *testing.T) {
	t.Parallel()
	const size = 256 << 20 // far more than socket buffers hold
	sent := 0
	met, err := probeBehind(t, func(f *foreignPeers, server string) {
		c := f.dial(server)
		for part := bytes.Repeat([]byte("x"), 1<<20); sent < size; {
			n, err := c.Write(part)
			if sent += n; err != nil {
				return
			}
		}
	}, 20*time.Second)
	must.True(t, err == nil && met.Refused == 1, "refused %d, want 1: %v", met.Refused, err)
	must.True(t, sent < size, "the port took %d bytes without the token", sent)
}

// Datagrams without the token are counted and not answered.
func TestForeignDatagramsToProbePort(t *testing.T) {
	t.Parallel()
	client, server := begin(t), begin(t)
	c := must.Get(net.ListenPacket("udp", local))(t)
	fixed := netip.MustParseAddrPort(c.LocalAddr().String())
	c.Close()
	relay := must.Get(net.ListenPacket("udp", local))(t)
	done := make(chan struct{})
	t.Cleanup(func() { relay.Close(); <-done })
	go func() {
		defer close(done)
		relayDatagrams(t, relay, fixed.String())
	}()
	met, err := agent.CheckReachability(t.Context(), client, server, "udp", fixed, netip.MustParseAddrPort(relay.LocalAddr().String()), timelimit.Scaled(5*time.Second))
	must.True(t, err == nil && met.Refused >= 2, "refused %d, want 2 for each attempt: %v", met.Refused, err)
}

// relayDatagrams relays to one address, and sends two datagrams without the token before each.
func relayDatagrams(t *testing.T, relay net.PacketConn, to string) {
	buf := make([]byte, 512)
	for {
		n, from, err := relay.ReadFrom(buf)
		if err != nil {
			return
		}
		out, err := net.Dial("udp", to)
		if err != nil {
			t.Error(err)
			return
		}
		for _, b := range [][]byte{[]byte("garbage\n"), {}, buf[:n]} {
			_, _ = out.Write(b) // if it is not answered, the client repeats it
		}
		_ = out.SetReadDeadline(time.Now().Add(time.Second))
		if n, err = out.Read(buf); err == nil {
			_, _ = relay.WriteTo(buf[:n], from)
		}
		out.Close()
	}
}

// If foreign peers are all that comes, the error names them.
func TestProbeErrorNamesForeignPeers(t *testing.T) {
	t.Parallel()
	client, server := begin(t), begin(t)
	fixed := nstest.FreePort(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil { // until the port is open
			if c, err := net.Dial("tcp", fixed.String()); err == nil {
				defer c.Close()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	met, err := agent.CheckReachability(t.Context(), client, server, "tcp", fixed, netip.MustParseAddrPort("192.0.2.1:1"), 1500*time.Millisecond)
	if want := "1 connection or datagram of others"; err == nil || met.Refused != 1 || !bytes.Contains([]byte(err.Error()), []byte(want)) {
		t.Errorf("refused %d: %v; want %s", met.Refused, err, want)
	}
}
