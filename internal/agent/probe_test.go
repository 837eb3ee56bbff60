package agent_test

import (
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/observe"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
)

const local = "127.0.0.1:0"

// Both endpoints of a direct connection see the same addresses.
func TestCheckReachability(t *testing.T) {
	t.Parallel()
	client, server := begin(t), begin(t)
	for _, network := range []string{"tcp", "udp", "tcp"} {
		m := must.Get(agent.CheckReachability(t.Context(), client, server, network, netip.MustParseAddrPort(local), netip.MustParseAddrPort(local), timelimit.Scaled(5*time.Second)))(t)
		must.True(t, m.From == m.Seen && m.From.Port() != 0 && m.SameConnection(), "%s: dialled from %s, seen from %s", network, m.From, m.Seen)
	}
}

// A connection within one network namespace has both ends there, whichever of the two looks, as one that is led to a proxy there has.
func TestFindProxies(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has network namespaces")
	}
	at := netip.MustParseAddrPort(local)
	m := must.Get(agent.FindProxies(t.Context(), begin(t), begin(t), at, at, timelimit.Scaled(5*time.Second)))(t)
	must.Equal(t, agent.Intercepted{Client: true, Server: true}, m.Intercepted)
	m = must.Get(agent.CheckReachability(t.Context(), begin(t), begin(t), "tcp", at, at, timelimit.Scaled(5*time.Second)))(t)
	must.EqualFor(t, "not asked", agent.Intercepted{}, m.Intercepted)
}

// If nothing listens, both sides give up and report it, and the port is free again.
func TestProbeWithoutListener(t *testing.T) {
	t.Parallel()
	client, server := begin(t), begin(t)
	nowhere := netip.MustParseAddrPort("192.0.2.1:1")
	for _, network := range []string{"tcp", "udp"} {
		fixed := nstest.FreePort(t)
		if _, err := agent.CheckReachability(t.Context(), client, server, network, fixed, nowhere, 100*time.Millisecond); err == nil || !strings.Contains(err.Error(), "no answer within") {
			t.Errorf("%s: probe without a listener: %v", network, err)
		}
		if _, err := agent.CheckReachability(t.Context(), client, server, network, fixed, fixed, timelimit.Scaled(5*time.Second)); err != nil {
			t.Errorf("%s, on the same port again: %v", network, err)
		}
	}
	must.FailFor(t, "listened on an address of another machine", must.Err(agent.CheckReachability(t.Context(), client, server, "tcp", nowhere, nowhere, 100*time.Millisecond)))
}

// A client that misses a reply gets another one.
func TestProbeReplyLost(t *testing.T) {
	t.Parallel()
	client, server := begin(t), begin(t)
	for _, network := range []string{"tcp", "udp"} {
		fixed := nstest.FreePort(t)
		at := dropFirstReply(t, network, fixed.String())
		if _, err := agent.CheckReachability(t.Context(), client, server, network, fixed, at, 20*time.Second); err != nil {
			t.Errorf("%s: %v", network, err)
		}
	}
}

// dropFirstReply is a relay of one line in each direction that drops the first reply.
func dropFirstReply(t *testing.T, network, to string) netip.AddrPort {
	t.Helper()
	ask := func(line []byte) []byte {
		conn, err := net.Dial(network, to)
		if err != nil {
			return nil // it sends no more replies
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		buf := make([]byte, 512)
		_, _ = conn.Write(line)
		n, _ := conn.Read(buf)
		return buf[:n]
	}
	buf, first := make([]byte, 512), true
	if network == "udp" {
		conn := must.Get(net.ListenPacket(network, local))(t)
		t.Cleanup(func() { conn.Close() })
		go func() {
			for {
				n, from, err := conn.ReadFrom(buf)
				if err != nil {
					return
				}
				if answer := ask(buf[:n]); !first {
					_, _ = conn.WriteTo(answer, from)
				}
				first = false
			}
		}()
		return netip.MustParseAddrPort(conn.LocalAddr().String())
	}
	l := must.Get(net.Listen(network, local))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n, _ := conn.Read(buf)
			if answer := ask(buf[:n]); !first {
				_, _ = conn.Write(answer)
			}
			first = false
			_ = conn.Close()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

func TestLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		testneed.Missing(t, testneed.Other, "devices are read on Linux and Windows only")
	}
	loopback := netip.MustParseAddr("127.0.0.1")
	links, from := must.Get2(begin(t).Links(t.Context(), loopback))(t)
	must.True(t, from == loopback, "%s is dialled from %s", loopback, from)
	for _, l := range links {
		if !l.Loopback {
			continue
		}
		must.True(t, l.Name != "" && l.MTU != 0 && l.Index != 0 && l.TxBytes == l.RxBytes, "the loopback device is %+v", l)
		return
	}
	t.Errorf("no loopback device among %d devices", len(links))
}

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := begin(t).Read(t.Context())
	switch runtime.GOOS {
	case "linux":
	case "windows":
		must.True(t, err == nil && got.Boot != "" && len(got.Gaps) != 0 && got.Gaps[0].Source == "protocols and sockets" && len(got.Counters) != 0,
			"read %+v and %v, want an identity, counters of devices and a gap: those of protocols", got, err)
		return
	default:
		must.True(t, err == nil && len(got.Gaps) == 1 && len(got.Counters) == 0, "read %+v and %v, want one gap: there is no procfs", got, err)
		return
	}
	must.True(t, err == nil && got.Boot != "" && got.NS != "", "read %+v and %v, want a boot id and a namespace", got, err)
	for _, want := range []string{"Udp.RcvbufErrors", "dev/lo.tx_packets", "softnet.dropped"} {
		if _, ok := got.Counters[want]; !ok {
			t.Errorf("no counter %s among %d", want, len(got.Counters))
		}
	}
	if kind, ok := got.Kinds["lo"]; !ok || kind != "" {
		t.Errorf("lo is a %q (there: %t), want hardware or loopback", kind, ok)
	}
}

// An agent reads the CPU times of its machine with its own monotonic clock. Two agents of one machine
// tell the same identity.
func TestCPU(t *testing.T) {
	t.Parallel()
	c := begin(t)
	boot, first, err := c.CPU(t.Context())
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		must.True(t, err != nil, "read CPU times of kernel %q: there is no procfs", boot)
		return
	}
	must.Require(t, err == nil && boot != "", "kernel %q, %v", boot, err)
	again, second, err := c.CPU(t.Context())
	must.Require(t, err == nil && again == boot, "kernel %q, then %q: %v", boot, again, err)
	if other, _, err := begin(t).CPU(t.Context()); err != nil || other != boot {
		t.Errorf("agents of one machine have the identities %q and %q: %v", boot, other, err)
	}
	var s observe.CPUTime
	s.Add(first, second)
	if _, err := s.Busy(); err != nil || s.Length() <= 0 {
		t.Errorf("between two readings are %s: %v", s.Length(), err)
	}
}
