//go:build linux

package agent_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/analysis/identity"
	"tare/internal/facts/link"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/warning"
)

func pathProbe(t *testing.T, on string) agent.PathProbe {
	t.Helper()
	at := netip.AddrPortFrom(netip.MustParseAddr(on), 0)
	return agent.PathProbe{Sender: begin(t), Receiver: begin(t), Listen: at, Dial: at, Wait: 30 * time.Second, Stall: 20 * time.Second}
}

// Loopback passes packets of its MTU in both families, and data arrives unchanged.
func TestPathProbe(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"127.0.0.1", "::1"} {
		p := pathProbe(t, on)
		if on == "::1" && !hasIPv6(t) {
			continue
		}
		sizes, err := p.Sizes(t.Context(), 9000)
		must.True(t, err == nil && sizes.Largest == 9000 && sizes.Lost == 0 && sizes.Changed == 0 && !sizes.Reported, "%s: %+v, %v", on, sizes, err)
		s, err := p.Stream(t.Context(), 4<<20, time.Hour)
		must.True(t, err == nil && s.Complete && s.Sent == 4<<20 && s.Received == s.Sent && s.BadAt == nil, "%s: %+v, %v", on, s, err)
	}
}

// hasIPv6 says whether loopback has an IPv6 address here.
func hasIPv6(t *testing.T) bool {
	t.Helper()
	c, err := net.ListenPacket("udp6", "[::1]:0")
	if err != nil {
		t.Logf("no IPv6 here: %v", err)
		return false
	}
	c.Close()
	return true
}

// A relay that changes a byte is noticed, with its offset.
func TestPathProbeFindsChanges(t *testing.T) {
	t.Parallel()
	p := pathProbe(t, "127.0.0.1")
	const bad = 100_000
	p.Listen = nstest.FreePort(t)
	relay := must.Get(net.Listen("tcp", local))(t)
	defer relay.Close()
	p.Dial = netip.MustParseAddrPort(relay.Addr().String())
	go func() {
		in, err := relay.Accept()
		if err != nil {
			return
		}
		defer in.Close()
		out, err := net.Dial("tcp", p.Listen.String())
		if err != nil {
			return
		}
		defer out.Close()
		replied := make(chan struct{})
		go func() {
			defer close(replied)
			b := make([]byte, 1000)
			for n, err := out.Read(b); err == nil; n, err = out.Read(b) {
				_, _ = in.Write(b[:n])
			}
			in.Close()
		}()
		defer func() { <-replied }() // the answers may come after the last data
		defer func() { _ = out.(*net.TCPConn).CloseWrite() }()
		b := make([]byte, 1000)
		for total := 0; ; {
			n, err := in.Read(b)
			if err != nil {
				return
			}
			const token = 33 // with its newline
			if at := bad + token - total; at >= 0 && at < n {
				b[at] ^= 1
			}
			if total += n; total > 0 {
				_, _ = out.Write(b[:n])
			}
		}
	}()
	s, err := p.Stream(t.Context(), 1<<20, time.Hour)
	must.True(t, err == nil && s.BadAt != nil && *s.BadAt == bad && !s.Complete, "%+v, %v; want a difference at %d", s, err, bad)
}

// A receiver that takes data without ever confirming it ends the probe.
func TestPathProbeStalls(t *testing.T) {
	t.Parallel()
	p := pathProbe(t, "127.0.0.1")
	l := must.Get(net.Listen("tcp", local))(t)
	defer l.Close()
	p.Listen, p.Dial = nstest.FreePort(t), netip.MustParseAddrPort(l.Addr().String())
	p.Stall = 2 * time.Second
	s, err := p.Stream(t.Context(), 1<<20, time.Second)
	must.True(t, err == nil && !s.Complete && s.Received == 0 && strings.Contains(s.Failure, "nothing was confirmed"), "%+v, %v", s, err)
	silent := must.Get(net.ListenPacket("udp", local))(t)
	defer silent.Close()
	p.Dial = netip.MustParseAddrPort(silent.LocalAddr().String())
	if got, err := p.Sizes(t.Context(), 1500); err == nil || !strings.Contains(err.Error(), "was answered within") {
		t.Errorf("%+v, %v", got, err)
	}
}

// An agent describes its machine and the link toward an address, and its clock is this
// one's.
func TestMachine(t *testing.T) {
	t.Parallel()
	c := begin(t)
	m := must.Get(c.Machine(t.Context(), netip.MustParseAddr("127.0.0.1")))(t)
	must.True(t, len(m.Facts) >= 10 && m.BootID != "" && m.Device == "lo" && len(m.Link) == len(link.Names()),
		"%d facts, boot %q, device %q with %d facts", len(m.Facts), m.BootID, m.Device, len(m.Link))
	for _, f := range m.Link {
		must.True(t, f.Value != "", "%s is empty", f.Name)
	}
	if same := identity.CompareHosts(result.Host{Facts: append(m.Facts, m.Link...)}, result.Host{Facts: []result.Fact{{Name: identity.ClockOffset, Value: "-3600 s"}}}); len(same) != 1 || same[0].Code != string(warning.ClocksApart) {
		t.Errorf("an hour apart: %v", same)
	}
	ahead, within, err := c.ClockOffset(t.Context())
	must.True(t, err == nil && ahead.Abs() <= within+time.Millisecond, "its clock is %s ahead, within %s: %v", ahead, within, err)
}
