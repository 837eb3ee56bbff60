package redirect_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
	"tare/internal/linuxnet/redirect"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// needRouter is for tests that load programs; see testneed.
func needRouter(t *testing.T) {
	t.Helper()
	testneed.NotShort(t)
	if err := linuxnet.Try(); err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	r, err := redirect.New(namespace(t, "probe"), "lo")
	var u *redirect.UnavailableError
	if errors.As(err, &u) {
		testneed.Missing(t, testneed.BPF, err)
	}
	must.Do(t, err)
	must.Do(t, r.Close())
}

// namespace has no duplicate address detection. A host has no link-local address while that lasts, and without one it asks for no
// neighbour on behalf of a packet that it redirects: after three times, a second apart, it drops the packet.
func namespace(t *testing.T, name string) *linuxnet.NS {
	t.Helper()
	ns := must.Get(linuxnet.NewNS("tare-redirect-" + name))(t)
	t.Cleanup(func() { ns.Close() })
	must.Do(t, ns.Sysctl("net/ipv6/conf/all/accept_dad", "0"), ns.Sysctl("net/ipv6/conf/default/accept_dad", "0"))
	return ns
}

// network is a sandbox behind a host that redirects, and a peer on the host's underlay.
type network struct {
	sandbox, host, peer *linuxnet.NS
	router              *redirect.Router
}

const (
	sandboxIPv4, gatewayIPv4 = "198.18.1.2", "198.18.1.1"
	hostIPv4, peerIPv4       = "198.18.0.1", "198.18.0.2"
	sandboxIPv6, gatewayIPv6 = "2001:2:0:1::2", "2001:2:0:1::1"
	hostIPv6, peerIPv6       = "2001:2::1", "2001:2::2"
)

// build sets up a network. The host neither forwards nor has a route to the sandbox, so only
// the programs can deliver the sandbox's packets.
func build(t *testing.T, start func(*linuxnet.NS, string) (*redirect.Router, error)) network {
	t.Helper()
	n := network{sandbox: namespace(t, "sandbox"), host: namespace(t, "host"), peer: namespace(t, "peer")}
	eth := linuxnet.Device{Name: "eth0"}
	steps := []error{
		n.host.Sysctl("net/ipv4/ip_forward", "0"), n.host.Sysctl("net/ipv6/conf/all/forwarding", "0"),
		n.host.Sysctl("net/ipv4/conf/all/rp_filter", "0"), n.sandbox.Sysctl("net/ipv4/conf/all/rp_filter", "0"),
		n.host.Links().Veth(eth, n.peer, eth), n.host.Links().Veth(linuxnet.Device{Name: "veth0"}, n.sandbox, eth),
	}
	for _, ns := range []*linuxnet.NS{n.host, n.peer, n.sandbox} {
		steps = append(steps, ns.Links().Up("eth0"))
	}
	steps = append(steps, n.host.Links().Up("veth0"))
	for ns, addrs := range map[*linuxnet.NS][]string{n.sandbox: {sandboxIPv4 + "/24", sandboxIPv6 + "/64"}, n.host: {hostIPv4 + "/24", hostIPv6 + "/64"}, n.peer: {peerIPv4 + "/24", peerIPv6 + "/64"}} {
		for _, a := range addrs {
			steps = append(steps, ns.Routes().Address("eth0", netip.MustParsePrefix(a)))
		}
	}
	outside, err := n.host.Links().HardwareAddr("veth0")
	steps = append(steps, err)
	inside, err := n.sandbox.Links().HardwareAddr("eth0")
	steps = append(steps, err)
	for gw, bits := range map[string]int{gatewayIPv4: 32, gatewayIPv6: 128} {
		a := netip.MustParseAddr(gw)
		steps = append(steps, n.host.Routes().Address("veth0", netip.PrefixFrom(a, bits)), n.sandbox.Routes().DefaultRoute(a))
	}
	for dst, gw := range map[string]string{sandboxIPv4 + "/24": hostIPv4, sandboxIPv6 + "/64": hostIPv6} {
		steps = append(steps, n.peer.Routes().Route(netip.MustParsePrefix(dst).Masked(), netip.MustParseAddr(gw), ""))
	}
	must.Do(t, errors.Join(steps...))
	n.router = must.Get(start(n.host, "eth0"))(t)
	t.Cleanup(func() {
		for range 2 {
			must.Do(must.Named(t, "close"), n.router.Close())
		}
	})
	must.Do(t, n.router.AddVeth(redirect.Sandbox{Device: "veth0", Host: outside, Inside: inside, Addrs: []netip.Addr{netip.MustParseAddr(sandboxIPv4), netip.MustParseAddr(sandboxIPv6)}}))
	return n
}

func (n network) counts(t *testing.T) redirect.Counts {
	t.Helper()
	c := must.Get(n.router.Counts("veth0"))(t)
	return c
}

// arrives is how long a packet may take that must arrive. A device that was just set up
// carries nothing until the kernel's link watch has run.
const arrives = 20 * time.Second

// ping sends two datagrams from one namespace to another: one that has no hop left and must
// not arrive, and one with a hop limit of 20. It returns the hop limit of the first that
// arrives.
func ping(t *testing.T, from, to *linuxnet.NS, dst string) (arrived int, err error) {
	t.Helper()
	addr := netip.MustParseAddr(dst)
	receiver := open(t, to, func() (*net.UDPConn, error) {
		return net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 0)))
	})
	sender := open(t, from, func() (*net.UDPConn, error) {
		return net.DialUDP("udp", nil, receiver.LocalAddr().(*net.UDPAddr))
	})
	level, limit, report := unix.IPPROTO_IP, unix.IP_TTL, unix.IP_RECVTTL
	if addr.Is6() {
		level, limit, report = unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, unix.IPV6_RECVHOPLIMIT
	}
	setOption(t, receiver, level, report, 1)
	for _, hops := range []int{1, 20} {
		setOption(t, sender, level, limit, hops)
		if _, err := sender.Write([]byte("ping")); err != nil {
			return 0, err
		}
	}
	if err := receiver.SetReadDeadline(time.Now().Add(arrives)); err != nil {
		return 0, err
	}
	body, control := make([]byte, 100), make([]byte, 100)
	size, used, _, _, err := receiver.ReadMsgUDP(body, control)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:used])
	if err != nil || len(messages) != 1 || len(messages[0].Data) == 0 || string(body[:size]) != "ping" {
		return 0, fmt.Errorf("received %q with %v: %w", body[:size], messages, err)
	}
	return int(messages[0].Data[0]), nil
}

func open(t *testing.T, ns *linuxnet.NS, socket func() (*net.UDPConn, error)) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	must.Do(t, ns.Do(func() (err error) {
		c, err = socket()
		return err
	}))
	t.Cleanup(func() { c.Close() })
	return c
}

func setOption(t *testing.T, c *net.UDPConn, level, option, value int) {
	t.Helper()
	raw := must.Get(c.SyscallConn())(t)
	var set error
	if err := raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), level, option, value) }); err != nil || set != nil {
		t.Fatal(err, set)
	}
}

// The programs deliver packets of both families that the host itself would drop, and count
// them. Each has one hop less, and one without a hop left is not redirected.
func TestRedirect(t *testing.T) {
	needRouter(t)
	for hook, start := range map[string]func(*linuxnet.NS, string) (*redirect.Router, error){"tcx": redirect.New, "clsact": redirect.NewClsact} {
		t.Run(hook, func(t *testing.T) {
			n := build(t, start)
			if got := n.router.Hook("veth0"); got != hook {
				t.Logf("attached to %q; tcx requires Linux 6.6", got)
			}
			for _, tt := range []struct {
				from, to *linuxnet.NS
				dst      string
				want     redirect.Counts
			}{
				{n.sandbox, n.peer, peerIPv4, redirect.Counts{Out: redirect.Count{Packets: 1, Bytes: 14 + 20 + 8 + 4}}},
				{n.peer, n.sandbox, sandboxIPv4, redirect.Counts{In: redirect.Count{Packets: 1, Bytes: 14 + 20 + 8 + 4}}},
				{n.sandbox, n.peer, peerIPv6, redirect.Counts{Out: redirect.Count{Packets: 1, Bytes: 14 + 40 + 8 + 4}}},
				{n.peer, n.sandbox, sandboxIPv6, redirect.Counts{In: redirect.Count{Packets: 1, Bytes: 14 + 40 + 8 + 4}}},
			} {
				before := n.counts(t)
				hops := must.Get(ping(t, tt.from, tt.to, tt.dst))(t)
				must.EqualFor(t, fmt.Sprintf("to %s", tt.dst), 19, hops)
				after := n.counts(t)
				got := redirect.Counts{Out: minus(after.Out, before.Out), In: minus(after.In, before.In)}
				must.True(t, got == tt.want, "to %s: counted %+v, want %+v", tt.dst, got, tt.want)
			}
		})
	}
}

func minus(a, b redirect.Count) redirect.Count {
	return redirect.Count{Packets: a.Packets - b.Packets, Bytes: a.Bytes - b.Bytes}
}
