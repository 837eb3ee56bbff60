//go:build linux

package netns_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// shorts are ways round a path. Each must leave the traffic flowing, because a
// path that only breaks proves nothing about the proof.
var shorts = []struct {
	name, mode string
	open       func(*testing.T, *drivertest.Setup) error
	want       string // the counter or rule that gives it away
}{
	{"a route round the bridge", "netns/published", routeRoundBridge, "b/br0.tx_bytes"},
	{"a relay instead of DNAT", "netns/published", relayInstead, "b/tare.forward_in_bytes"},
	{"a relay instead of DNAT, both bridged", "netns/bridge", relayInstead, "b/tare.forward_in_bytes"},
	{"masquerade removed, routed back", "netns/bridge", withoutMasquerade, "masquerade_packets"},
	{"a cable between the sandboxes", "netns/colocated", cable, "a/veth0"},
	{"a cable beside the tunnel", "netns/vxlan", cable, "a/eth0.tx_bytes"},
	{"a cable beside macvlan", "netns/macvlan", cable, "a/eth0.tx_bytes"},
	{"a cable beside the underlay", "host", cable, "a/eth0.tx_bytes"},
}

func TestShortcutsComeOutVoid(t *testing.T) {
	for _, tt := range shorts {
		t.Run(tt.name, func(t *testing.T) {
			s := drivertest.Provision(t, netns.Driver{}, tt.mode, nil)
			for _, kind := range []string{"tcp_stream", "tcp_rr"} {
				if _, _, err := s.Trial(t, drivertest.Params(kind), false); err != nil {
					t.Fatalf("before the shortcut, %s: %v", kind, err)
				}
			}
			before := s.Snapshot(t)
			if err := s.Proof(t, before, []driver.Carried{shower(t, s, 2, 0, false, false)}); err != nil {
				t.Fatalf("before the shortcut, datagrams: %v", err)
			}
			if err := tt.open(t, s); err != nil {
				t.Fatal(err)
			}
			s.WaitReachable(t)
			for _, kind := range []string{"tcp_stream", "tcp_rr"} {
				s.Void(t, drivertest.Params(kind), tt.want)
			}
			before = s.Snapshot(t)
			err := s.Proof(t, before, []driver.Carried{shower(t, s, 2, 0, false, false)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("datagrams over the shortcut: got %v, want the proof to fail on %s", err, tt.want)
			}
		})
	}
}

// both finds the namespaces of the two ends.
func both(s *drivertest.Setup) (client, server *linuxnet.NS) {
	c, srv := netns.Namespaces(s.Path)
	return c, srv
}

// cable joins the namespaces of both ends directly and routes the dialled
// address over it.
func cable(_ *testing.T, s *drivertest.Setup) error {
	client, server := both(s)
	target := s.Path.Pairs[0].Server
	dial, back := target.Dial[0].Addr(), netip.MustParsePrefix("198.19.255.1/24")
	return errors.Join(
		client.Veth(linuxnet.Device{Name: "cable0"}, server, linuxnet.Device{Name: "cable1"}),
		client.Up("cable0"), server.Up("cable1"),
		client.Address("cable0", back),
		server.Address("cable1", netip.MustParsePrefix("198.19.255.2/24")),
		client.Route(netip.PrefixFrom(dial, 32), netip.MustParseAddr("198.19.255.2"), "cable0"),
	)
}

// routeRoundBridge gives the published sandbox a second link to its host, and
// the host a route to it over that.
func routeRoundBridge(_ *testing.T, s *drivertest.Setup) error {
	_, server := both(s)
	own := s.Lab.Addresses(lab.NetB, 2)[0].Addr()
	client := s.Lab.A.Addr[0]
	b := s.Lab.B.NS
	return errors.Join(
		b.Veth(linuxnet.Device{Name: "side0"}, server, linuxnet.Device{Name: "side1"}),
		b.Up("side0"), server.Up("side1"),
		b.Address("side0", netip.MustParsePrefix("198.19.255.1/24")),
		server.Address("side1", netip.MustParsePrefix("198.19.255.2/24")),
		b.Route(netip.PrefixFrom(own, 32), netip.MustParseAddr("198.19.255.2"), "side0"),
		server.Route(netip.PrefixFrom(client, 32), netip.MustParseAddr("198.19.255.1"), "side1"),
		// The forward chain lets through only what goes by the bridge.
		b.DropTable("tare"),
		b.Gateway(linuxnet.Gateway{Table: "tare", Bridge: "side0", Publish: []linuxnet.Published{{Port: 5201, To: netip.AddrPortFrom(own, 5201)}}}),
	)
}

// relayInstead takes the DNAT rule away and lets a process on b pass the
// connections on, as a userland proxy would.
func relayInstead(t *testing.T, s *drivertest.Setup) error {
	target := s.Path.Pairs[0].Server
	b := s.Lab.B.NS
	if err := b.DropChain("tare", "prerouting"); err != nil {
		return err
	}
	var l net.Listener
	err := b.Do(func() (err error) {
		l, err = net.Listen("tcp", target.Dial[0].String())
		return err
	})
	if err != nil {
		return err
	}
	t.Cleanup(func() { l.Close() })
	relayDatagrams(t, b, target)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			var out net.Conn
			err = b.Do(func() (err error) {
				out, err = net.Dial("tcp", target.Listen[0].String())
				return err
			})
			if err != nil {
				in.Close()
				return
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return nil
}

// relayDatagrams does the same for UDP, one way.
func relayDatagrams(t *testing.T, b *linuxnet.NS, target driver.Endpoint) {
	t.Helper()
	in := socket(t, b, func() (*net.UDPConn, error) { return net.ListenUDP("udp", net.UDPAddrFromAddrPort(target.Dial[0])) })
	out := socket(t, b, func() (*net.UDPConn, error) {
		return net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(target.Listen[0]))
	})
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, _, err := in.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = out.Write(buf[:n]) // between two showers nobody listens
		}
	}()
}

func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if tcp, ok := to.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

// withoutMasquerade lets the client's own address out and gives b a route back.
func withoutMasquerade(_ *testing.T, s *drivertest.Setup) error {
	behind := s.Lab.Addresses(lab.NetA, 0)[0].Masked()
	return errors.Join(
		s.Lab.A.NS.DropChain("tare", "postrouting"),
		s.Lab.B.NS.Route(behind, s.Lab.A.Addr[0], ""),
		// Replies now arrive addressed to the sandbox itself, as established
		// traffic: the forward chain of a knows them.
	)
}
