package socket

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// winPair returns client and server of a connection over loopback.
func winPair(t *testing.T) (client, server *winStream) {
	t.Helper()
	l := must.Get(Winsock{}.ListenTCP("127.0.0.1:0", TCPOptions{Workload: study.Workload{NoDelay: new(true), SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.Buffer(1 << 20)}}))(t)
	t.Cleanup(l.Close)
	if _, err := l.AcceptNow(); !IsAgain(err) {
		t.Errorf("accept without a connection: %v", err)
	}
	a := must.Get(Winsock{}.DialTCP(t.Context(), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), l.Port()), probeOptions()))(t)
	t.Cleanup(a.Close)
	for {
		b, err := l.Accept(nil)
		if IsAgain(err) {
			continue
		}
		must.Do(t, err)
		t.Cleanup(b.Close)
		client, server = a.(*winStream), b.(*winStream)
		if at := server.Peer(); at.Addr().String() != "127.0.0.1" || at.Port() == 0 {
			t.Errorf("the peer is %s", at)
		}
		return client, server
	}
}

// Every byte arrives although receive calls time out and sends find the buffers full.
func TestWinStream(t *testing.T) {
	a, b := winPair(t)
	buf := make([]byte, 64<<10)
	if n, err := b.Read(buf); !IsAgain(err) || n != 0 {
		t.Errorf("nothing was sent, read %d, %v", n, err)
	}
	if n, err := b.ReadNow(buf); !IsAgain(err) || n != 0 {
		t.Errorf("nothing was sent, read %d at once, %v", n, err)
	}
	sent, next := 0, byte(0)
	out := make([]byte, 64<<10)
	for full := false; !full; {
		for i := range out {
			out[i] = byte(sent + i)
		}
		n, err := a.Write(out)
		sent += n
		if full = IsAgain(err); err != nil && !full {
			t.Fatal(err)
		}
	}
	must.Do(t, a.CloseWrite())
	got := 0
	for {
		n, err := b.Read(buf)
		if IsAgain(err) {
			continue
		}
		must.Do(t, err)
		if n == 0 {
			break
		}
		for _, c := range buf[:n] {
			if c != next {
				t.Fatalf("byte %d is %d, want %d", got, c, next)
			}
			next++
		}
		got += n
	}
	if got != sent || sent == 0 {
		t.Errorf("sent %d bytes, %d arrived", sent, got)
	}
	if info := a.Info(); info.SendBuffer == 0 || info.Known && info.MSS == 0 {
		t.Errorf("the connection is %+v", info)
	}
}

// A port that nobody listens on is an error that names it, not a timeout.
func TestWinRefused(t *testing.T) {
	l := must.Get(Winsock{}.ListenTCP("127.0.0.1:0", probeOptions()))(t)
	to := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), l.Port())
	l.Close()
	if s, err := (Winsock{}).DialTCP(t.Context(), to, probeOptions()); err == nil || !errors.Is(err, windows.WSAECONNREFUSED) && !errors.Is(err, windows.ERROR_CONNECTION_REFUSED) {
		t.Errorf("connected to a closed port: %v, %v", s, err)
	}
}

// One socket or several: datagrams arrive on their flow, whole, and a longer one is detected.
func TestWinUDP(t *testing.T) {
	for _, flows := range []int{1, 3} {
		o := UDPOptions{Flows: flows, Longest: 100, SendBuffer: -1, ReceiveBuffer: -1}
		port := must.Get(Winsock{}.ListenUDP("127.0.0.1:0", o))(t)
		client := must.Get(Winsock{}.DialUDP(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port.Port()), o))(t)
		in := NewInbox(o.Longest, false)
		if err := client.ReceiveWithin(in, 200*time.Microsecond); !IsAgain(err) {
			t.Errorf("%d flows: nothing was sent: %v", flows, err)
		}
		var peers []netip.AddrPort
		for flow := range flows {
			must.Do(t, client.SendOne(flow, []byte{byte(flow)}))
			for buf := make([]byte, 10); len(peers) == flow; {
				n, from, err := port.Receive(buf)
				if IsAgain(err) {
					continue
				}
				if err != nil || n != 1 || buf[0] != byte(flow) {
					t.Fatalf("flow %d of %d: received %v, %v", flow, flows, buf[:n], err)
				}
				peers = append(peers, from)
			}
		}
		server := must.Get(port.Connect(peers))(t)
		for flow := range flows {
			must.Do(t, server.SendOne(flow, make([]byte, 10+flow)))
			for {
				err := client.Receive(in)
				if IsAgain(err) {
					continue
				}
				if err != nil || in.Flow != flow || in.N != 1 || in.Sizes[0] != 10+flow {
					t.Errorf("flow %d of %d: %d datagrams of flow %d, %d bytes, %v", flow, flows, in.N, in.Flow, in.Sizes[0], err)
				}
				break
			}
			must.Get(client.Messenger(flow).Send(make([]byte, 200)))(t)
			for {
				err := server.Receive(in)
				if IsAgain(err) {
					continue
				}
				if err != nil || in.Flow != flow || in.Sizes[0] != 101 {
					t.Errorf("flow %d of %d: a datagram of 200 bytes arrived as %d of flow %d, %v", flow, flows, in.Sizes[0], in.Flow, err)
				}
				break
			}
		}
		if s := server.State(); s.UnknownPeers != 0 || s.ReceiveBuffer == 0 {
			t.Errorf("the server's sockets are %+v", s)
		}
		client.Close()
		server.Close()
		port.Close()
	}
}

func TestParseTCPInfo(t *testing.T) {
	le := binary.LittleEndian
	b := make([]byte, tcpInfoSize)
	le.PutUint32(b[4:], 1460)
	le.PutUint32(b[20:], 1500)
	le.PutUint64(b[48:], 1_000_000)
	le.PutUint64(b[56:], 7)
	le.PutUint32(b[68:], 1461)
	le.PutUint32(b[92:], 30)
	le.PutUint32(b[108:], 50)
	want := TCPInfo{Known: true, MSS: 1460, RTT: 0.0015, Sent: 1_000_000, Resent: 1461, Received: 7, Retransmits: 2}
	got := parseTCPInfo(b[:infoV0])
	if math.Abs(got.RTT-want.RTT) > 1e-12 {
		t.Errorf("round-trip time %g", got.RTT)
	}
	if got.RTT = want.RTT; got != want {
		t.Errorf("version 0 is %+v, want %+v", got, want)
	}
	want.Times = Chronograph{Known: true, Busy: 80 * time.Millisecond, ReceiveWindow: 30 * time.Millisecond}
	got = parseTCPInfo(b)
	if got.RTT = want.RTT; got != want {
		t.Errorf("version 1 is %+v, want %+v", got, want)
	}
	for n := range infoV0 {
		if got := parseTCPInfo(b[:n]); got != (TCPInfo{}) {
			t.Errorf("%d bytes are %+v", n, got)
		}
	}
}

// A sleep is never far shorter than asked for, and one within a tick is possible.
func TestWaitTimer(t *testing.T) {
	timer := newWaitTimer()
	if timer.handle == 0 {
		t.Error("the system has no timer")
	}
	began := time.Now()
	for range 20 {
		timer.sleep(5 * time.Millisecond)
	}
	if took := time.Since(began); took < 80*time.Millisecond {
		t.Errorf("20 sleeps of 5 ms took %s", took)
	}
	event := must.Get(windows.CreateEvent(nil, 1, 0, nil))(t)
	defer func() { _ = windows.CloseHandle(event) }()
	if got, err := timer.wait(event, time.Millisecond); got || err != nil {
		t.Errorf("an event that did not happen: %t, %v", got, err)
	}
	must.Do(t, windows.SetEvent(event))
	if got, err := timer.wait(event, time.Hour); !got || err != nil {
		t.Errorf("an event that happened: %t, %v", got, err)
	}
}
