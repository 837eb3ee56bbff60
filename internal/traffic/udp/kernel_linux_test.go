package udp

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/testkit/studytest"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

func TestMain(m *testing.M) {
	nstest.Alone()
	m.Run()
}

// inNS creates a network namespace whose loopback has the given MTU, runs a trial in it and returns
// the change of the kernel's UDP counters.
func inNS(t *testing.T, mtu int, server, client traffic.Workload, p traffic.Params) (c, s traffic.Report, moved map[string]int64, err error) {
	t.Helper()
	testneed.NotShort(t)
	if err := linuxnet.Try(); err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	ns, err := linuxnet.NewNS("tare-udp")
	must.Do(t, err)
	defer ns.Close()
	must.Do(t, ns.Do(func() error { return setMTU("lo", mtu) }))
	before := udpCounters(t, ns)
	// A socket belongs to the namespace of the thread that opens it, which is the calling thread.
	c, s, err = trial(t, inside{server, ns}, inside{client, ns}, p)
	moved = udpCounters(t, ns)
	for name, was := range before {
		moved[name] -= was
	}
	return c, s, moved, err
}

// setMTU sets a device's MTU in the calling thread's namespace.
func setMTU(device string, mtu int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var req [unix.SizeofPtr*3 + unix.IFNAMSIZ]byte // struct ifreq
	copy(req[:unix.IFNAMSIZ-1], device)
	binary.NativeEndian.PutUint32(req[unix.IFNAMSIZ:], uint32(mtu))
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFMTU, uintptr(unsafe.Pointer(&req))); errno != 0 {
		return fmt.Errorf("set the MTU of %s to %d: %w", device, mtu, errno)
	}
	return nil
}

// inside is a workload whose endpoints are in a namespace.
type inside struct {
	traffic.Workload
	ns *linuxnet.NS
}

func (w inside) Listen(p traffic.Params) (s traffic.Server, err error) {
	err = w.ns.Do(func() (err error) {
		s, err = w.Workload.Listen(p)
		return err
	})
	return insideServer{s, w.ns}, err
}

func (w inside) Dial(ctx context.Context, p traffic.Params, peer traffic.Peer) (r traffic.Report, err error) {
	err = w.ns.Do(func() (err error) {
		r, err = w.Workload.Dial(ctx, p, peer)
		return err
	})
	return r, err
}

type insideServer struct {
	traffic.Server
	ns *linuxnet.NS
}

func (s insideServer) Serve(ctx context.Context, peer traffic.Peer) (r traffic.Report, err error) {
	err = s.ns.Do(func() (err error) {
		r, err = s.Server.Serve(ctx, peer)
		return err
	})
	return r, err
}

// backlogDrops returns the drops of the queues before the network layer on the whole machine, which
// overflow on a busy machine. It is 0 if they cannot be read.
func backlogDrops() (sum int64) {
	text, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 {
			n, _ := strconv.ParseInt(f[1], 16, 64)
			sum += n
		}
	}
	return sum
}

// udpCounters reads the Udp lines of /proc/net/snmp.
func udpCounters(t *testing.T, ns *linuxnet.NS) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	err := ns.Do(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/snmp")
		if err != nil {
			return err
		}
		var names []string
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			switch {
			case fields[0] != "Udp:":
			case names == nil:
				names = fields
			default:
				for i, f := range fields[1:] {
					if got[names[i+1]], err = strconv.ParseInt(f, 10, 64); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	must.Require(t, err == nil && len(got) != 0, "read /proc/net/snmp: %v, %v", got, err)
	return got
}

// The counts of sent and received datagrams equal the kernel's counters, less the four datagrams of
// a handshake without loss. What a busy machine lost, the kernel has dropped.
func TestUDPAgreesWithKernel(t *testing.T) {
	const handshake = 4
	for pairing, endpoints := range pairings(newStream) {
		p := params("udp_stream")
		p.Rate = 100e6
		before := backlogDrops()
		client, server, moved, err := inNS(t, 65536, endpoints[0], endpoints[1], p)
		must.Do(must.Named(t, pairing), err)
		dropped := moved["InErrors"] + backlogDrops() - before
		consistent(t, pairing, p, client, server)
		sent, got := client.Messages, server.Datagrams.Flows[0].Received
		// A hello that is answered late is repeated, and so may be its reply; what comes after the end is not taken in.
		out, in := moved["OutDatagrams"]-sent, moved["InDatagrams"]-got
		must.True(t, out >= handshake && in >= handshake && in <= out && sent-got >= moved["InErrors"] && sent-got <= dropped,
			"%s: %d sent and %d received; the kernel says %v", pairing, sent, got, moved)
	}
	for pairing, endpoints := range pairings(newRR) {
		p := params("udp_rr")
		start := time.Now()
		client, server, moved, err := inNS(t, 65536, endpoints[0], endpoints[1], p)
		must.Do(must.Named(t, pairing), err)
		repeated := 2 * int64(time.Since(start)/handshakeInterval) // at most: a message that is answered late, and its answer
		// At least one bye was sent; the server may have exited before the next.
		if left := moved["OutDatagrams"] - client.Messages - server.Messages - handshake; left < 1 || left > byeCount+repeated {
			t.Errorf("%s: %d and %d sent, and at most %d repeated; the kernel says %v", pairing, client.Messages, server.Messages, repeated, moved)
		}
	}
}

// A receive buffer that is too small loses as many datagrams as the kernel counts.
func TestUDPLossIsTheKernels(t *testing.T) {
	for pairing, endpoints := range pairings(newStream) {
		p := params("udp_stream")
		p.Rate, p.ReceiveBuffer, p.Streams = 0, quantity.Buffer(4096), 2
		before := backlogDrops()
		client, server, moved, err := inNS(t, 65536, endpoints[0], endpoints[1], p)
		must.Do(must.Named(t, pairing), err)
		dropped := backlogDrops() - before
		consistent(t, pairing, p, client, server)
		var got int64
		for _, f := range server.Datagrams.Flows {
			got += f.Received
		}
		if lost := client.Messages - got; lost == 0 || lost < moved["RcvbufErrors"] || lost > moved["RcvbufErrors"]+dropped {
			t.Errorf("%s: %d of %d lost; the kernel says %v, and %d dropped before", pairing, lost, client.Messages, moved, dropped)
		}
		// The sockets' own counters agree, if they can be read.
		switch drops := server.Datagrams.SocketDrops; {
		case drops == nil && endpoints[0] == traffic.Workload(stream{socket.FastestUDP()}):
			t.Errorf("%s: the drops of the receiver's sockets are unknown", pairing)
		case drops != nil && *drops != moved["RcvbufErrors"]:
			t.Errorf("%s: the receiver's sockets dropped %d, the kernel says %d", pairing, *drops, moved["RcvbufErrors"])
		}
		if m, _ := endpoints[1].Metrics(p, client, server); m["loss_ratio"] <= 0 || m["loss_ratio"] >= 1 {
			t.Errorf("%s: %v", pairing, m)
		}
	}
}

// A payload that exceeds the path MTU is one clear error, or is fragmented if requested.
func TestUDPOversize(t *testing.T) {
	t.Parallel()
	for _, offload := range []bool{false, true} {
		for _, reverse := range []bool{false, true} {
			for _, n := range []socket.UDP{socket.FastestUDP(), portable()} {
				w := stream{n}
				p := params("udp_stream")
				p.PayloadSize, p.Offload, p.Direction = 1473, studytest.Switch(offload), studytest.Direction(reverse)
				name := fmt.Sprintf("%T, offload %t, reverse %t", n, offload, reverse)
				_, _, _, err := inNS(t, 1500, w, w, p)
				must.FailFor(t, name, err, "payload of 1473 bytes exceeds the path MTU of 1500 with fragmentation off; use at most 1472 bytes")
				p.PayloadSize = 1472
				if _, _, _, err := inNS(t, 1500, w, w, p); err != nil {
					t.Errorf("%s: a payload of the full MTU: %v", name, err)
				}
			}
		}
	}
	w := stream{socket.FastestUDP()}
	p := params("udp_stream")
	p.PayloadSize, p.Fragment = 4000, study.On
	client, server, moved, err := inNS(t, 1500, w, w, p)
	must.Do(t, err)
	consistent(t, "fragmented", p, client, server)
	must.True(t, server.Received == client.Sent && client.Sent != 0, "%d of %d came in fragments; the kernel says %v", server.Received, client.Sent, moved)
}

// The fast implementation does not allocate per datagram: more datagrams cause no more allocations.
func TestUDPAllocatesNothing(t *testing.T) {
	loopback.Room(t)
	allocs := func(duration time.Duration, offload bool, rate quantity.Load) (n, sent int64) {
		p := params("udp_stream")
		p.Warmup, p.Duration, p.Offload, p.Rate = 0, duration, studytest.Switch(offload), rate
		w := stream{socket.FastestUDP()}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		client, _ := must.Get2(trial(t, w, w, p))(t)
		runtime.ReadMemStats(&after)
		return int64(after.Mallocs - before.Mallocs), client.Messages
	}
	allocs(20*time.Millisecond, false, 0) // what is allocated once
	for _, offload := range []bool{false, true} {
		for _, rate := range []quantity.Load{0, 400e6} {
			few, a := allocs(20*time.Millisecond, offload, rate)
			var many, b int64
			// A busy machine may send few in a while.
			for duration := 100 * time.Millisecond; duration < 10*time.Second && b-a < 1000; duration *= 2 {
				many, b = allocs(duration, offload, rate)
			}
			if more := b - a; more < 1000 || many-few > more/10 { // the runtime itself allocates some
				t.Errorf("offload %t, rate %d: %d allocations for %d datagrams, %d for %d", offload, rate, few, a, many, b)
			}
		}
	}
}
