package tcp

import (
	"bytes"
	"fmt"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/socket"
)

// The counts of the endpoints equal the kernel's own counters of the same sockets to the byte: sent
// without retransmissions, and received, with nothing besides the payload but the handshake and the
// stop bytes.
func TestKernelAgrees(t *testing.T) {
	for _, on := range pairings() {
		for _, both := range []bool{false, true} {
			for _, threads := range []int{0, 1} {
				p := loopback.Params("tcp_stream")
				p.Streams, p.Direction, p.Threads, p.WriteSize = 3, towards(both), threads, 64<<10
				client, server := must.Get2(pair(t, on, p))(must.Named(t, on))
				n := int64(connections(p))
				tokens := n * int64(len(handshakeBytes(p, roleForward)))
				toServer, toClient := tokens, n+n // go, and a stop byte from the server as receiver
				if both {
					toServer, toClient = tokens+n/2, n+n/2
				}
				// Token from the client, go from the server, stop byte from each receiver.
				for what, c := range map[string]struct{ kernel, ours int64 }{
					"client sent":     {int64(client.TCP.Wire - client.TCP.Resent), client.Sent + toServer},
					"server sent":     {int64(server.TCP.Wire - server.TCP.Resent), server.Sent + toClient},
					"client received": {int64(client.TCP.Received), client.Received + toClient},
					"server received": {int64(server.TCP.Received), server.Received + toServer},
				} {
					// The kernel counts the end of a direction as a received byte.
					if d := c.kernel - c.ours; d < 0 || d > 0 && (!strings.Contains(what, "received") || d > int64(connections(p))) {
						t.Errorf("%s, both %t, %d threads: %s %d, the kernel says %d", on, both, threads, what, c.ours, c.kernel)
					}
				}
				must.True(t, client.Congestion != "" && client.MSS != 0 && client.SendBuffer != 0 && server.ReceiveBuffer != 0 && client.Retransmits != nil,
					"%s: the report has no kernel values: %+v", on, client)
			}
		}
	}
}

// A congestion control that the kernel lacks is refused with a list of what it has.
func TestUnknownCongestion(t *testing.T) {
	t.Parallel()
	for _, n := range implementations() {
		p := loopback.Params("tcp_stream")
		p.Congestion = "nonesuch"
		w := stream{n}
		_, lerr := w.Listen(p)
		p.Address = "127.0.0.1:9"
		_, derr := w.Dial(t.Context(), p, nil)
		for at, err := range map[string]error{"listen": lerr, "dial": derr} {
			must.FailLine(t, fmt.Sprintf("%s: %s", n.name, at), err, "set congestion control nonesuch: this kernel has only ", "127.0.0.1:")
		}
	}
}

// Congestion control and buffers are the requested ones in both implementations, and the report has
// the granted sizes.
func TestSocketOptions(t *testing.T) {
	t.Parallel()
	for _, on := range pairings() {
		for _, size := range []quantity.Size{32 << 10, math.MaxInt32, 1 << 40} {
			p := loopback.Params("tcp_stream")
			p.Congestion, p.SendBuffer, p.ReceiveBuffer = "reno", quantity.Buffer(size), quantity.Buffer(size)
			client, server := must.Get2(pair(t, on, p))(must.Named(t, fmt.Sprintf("%s, buffers of %d", on, size)))
			for end, r := range map[string]traffic.Report{"client": client, "server": server} {
				must.EqualFor(t, fmt.Sprintf("%s: %s", on, end), "reno", r.Congestion)
				// A kernel grants twice the requested size (socket(7)).
				ok := r.SendBuffer == 2*int(size) && r.ReceiveBuffer == 2*int(size)
				if size > 1<<20 {
					ok = r.SendBuffer >= 2*32<<10 && r.ReceiveBuffer >= 2*32<<10
				}
				must.True(t, ok, "%s: %s requested %d and was granted %d and %d", on, end, size, r.SendBuffer, r.ReceiveBuffer)
			}
		}
	}
}

// A write or a read allocates nothing.
func TestStreamAllocatesNothing(t *testing.T) {
	for _, raw := range []bool{false, true} {
		a, b := connected(t)
		p := traffic.Params{Workload: study.Workload{Streams: 1, WriteSize: 1400, Rate: 1e12}, Duration: time.Hour}
		send := &streamEnd{Stream: a, send: true, buf: payload(int(p.WriteSize)), batch: 1, bins: traffic.NewBinCounter(traffic.Params{Duration: time.Second}), start: clock.Now().Add(-2 * time.Second)}
		get := &streamEnd{Stream: b, buf: make([]byte, readSize), bins: traffic.NewBinCounter(traffic.Params{Duration: time.Hour}), start: send.start}
		if raw {
			send.Stream, get.Stream = socket.RawStream{FastStream: a}, socket.RawStream{FastStream: b}
		}
		for _, pace := range []*pace{nil, newPace(p, 0)} {
			send.pace = pace
			must.EqualFor(t, fmt.Sprintf("raw %t, paced %t", raw, pace != nil), float64(0), testing.AllocsPerRun(1000, func() {
				must.True(t, send.step() == nil && get.step() == nil, "a step failed")
			}))
		}
	}
}

// connected returns both sockets of a connection over loopback.
func connected(t testing.TB) (client, server socket.FastStream) {
	t.Helper()
	p := loopback.Params("tcp_stream")
	l := must.Get(socket.Fast{}.ListenTCP(p.Address, connection.Options(p)))(t)
	defer l.Close()
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(l.Port())}
	c := must.Get(socket.Fast{}.DialTCP(t.Context(), addr.AddrPort(), connection.Options(p)))(t)
	t.Cleanup(c.Close)
	s := must.Get(l.Accept(nil))(t)
	t.Cleanup(s.Close)
	return socket.FastStream(c.FD()), socket.FastStream(s.FD())
}

// Raw system calls are used if there are processors to spare, and transfer the same data.
func TestRawCalls(t *testing.T) {
	old := runtime.GOMAXPROCS(8)
	defer runtime.GOMAXPROCS(old)
	for _, rate := range []quantity.Load{0, 50e6} {
		for _, both := range []bool{false, true} {
			p := loopback.Params("tcp_stream")
			p.Rate, p.Direction = rate, towards(both)
			a, _ := connected(t)
			if _, ok := threadedStream(a, threadCount(p)).(socket.RawStream); !ok {
				t.Fatal("raw system calls were not used")
			}
			client, server := must.Get2(pair(t, loopback.Pairing[path]{Server: fastest(), Client: fastest()}, p))(t)
			agree(t, p, client, server)
		}
	}
}

// The payload is not one page of zeros.
func TestPayload(t *testing.T) {
	t.Parallel()
	b := payload(1 << 20)
	must.True(t, len(b) == 1<<20 && !bytes.Contains(b, make([]byte, 64)), "the payload holds zeros")
}

func BenchmarkStreamStep(b *testing.B) {
	for _, size := range []int{1390, 128 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c, s := connected(b)
			send := &streamEnd{Stream: socket.RawStream{FastStream: c}, send: true, buf: payload(size), batch: 1, bins: traffic.NewBinCounter(traffic.Params{Duration: time.Hour}), start: clock.Now()}
			get := &streamEnd{Stream: socket.RawStream{FastStream: s}, buf: make([]byte, readSize), bins: traffic.NewBinCounter(traffic.Params{Duration: time.Hour}), start: send.start}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, send.step())
				for got := int64(0); got < int64(size); {
					before := get.bins.Total
					must.Do(b, get.step())
					got += get.bins.Total - before
				}
			}
		})
	}
}
