//go:build linux

package linuxnet

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

// joined creates two namespaces with a veth between them: 192.0.2.1 and .2 on x0.
func joined(t *testing.T) (a, b *NS) {
	t.Helper()
	a, b = needNS(t), needNS(t)
	must.Do(t, a.Links().Veth(Device{Name: "x0"}, b, Device{Name: "x0"}))
	for i, ns := range []*NS{a, b} {
		at := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + i)}), 24)
		must.Do(t, errors.Join(ns.Links().Up("x0"), ns.Routes().Address("x0", at)))
	}
	return a, b
}

func TestTapCountsByKind(t *testing.T) {
	a, b := joined(t)
	must.Do(t, b.Rules().CountIngress("tare", "x0"))
	send := func(network, to string, times int) {
		t.Helper()
		var c net.Conn
		must.Do(t, a.Do(func() (err error) {
			c, err = net.Dial(network, to)
			return err
		}))
		defer c.Close()
		for range times {
			_, _ = c.Write(make([]byte, 100)) // it may fail because nothing listens
		}
	}
	send("udp4", "192.0.2.2:4789", 3)
	send("udp4", "192.0.2.2:4788", 5)
	if RealRoot() { // a raw socket of protocol 50 sends ESP
		send("ip4:50", "192.0.2.2", 7)
	}
	// The kernel resolves the address first, and then delivers what it queued.
	var got map[string]Count
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		got = must.Get(b.Rules().IngressCounts("tare"))(t)
		if got[CountClear].Packets > 0 && (!RealRoot() || got[CountESP].Packets > 0) || time.Now().After(end) {
			break
		}
	}
	// After a rejected datagram the sender's next write fails without sending.
	if n := got[CountClear]; n.Packets == 0 || n.Packets > 3 || n.Bytes != n.Packets*128 {
		t.Errorf("%s is %+v after 3 datagrams of 100 bytes to port 4789", CountClear, n)
	}
	if n := got[CountESP].Packets; RealRoot() && (n == 0 || n > 7) {
		t.Errorf("%s is %d after 7 packets of protocol 50", CountESP, n)
	}
}

// The kernel's ESP support decides the result: it either has an association or reports what
// it rejected.
func TestESP(t *testing.T) {
	ns := needNS(t)
	list := must.Get(ns.Tunnels().Associations())(t)
	must.EqualFor(t, "a new namespace has associations", 0, len(list))
	if err := ProbeESP(); err != nil {
		t.Logf("%v", err)
		must.True(t, errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.ENOENT), "the kernel's answer is none that lacks ESP: %v", err)
	}
}

func TestOpenLeavesTheNamespaceToItsOwner(t *testing.T) {
	a, _ := joined(t)
	var other *NS
	must.Do(t, a.Do(func() (err error) {
		other, err = OpenNS("other", "/proc/thread-self/ns/net")
		return err
	}))
	must.Get(other.Links().Stats("x0"))(t)
	must.Do(t, other.Close())
	must.Get(a.Links().Stats("x0"))(must.Named(t, "after the other was closed"))
	must.FailFor(t, "a path without a namespace was opened", must.Err(OpenNS("nothing", "/proc/self/nothing")))
}
