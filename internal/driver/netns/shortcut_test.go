//go:build linux

package netns_test

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// shorts are connections that bypass a path, beside the cable that the row of a mode names. Each keeps the traffic flowing, because a
// broken path would prove nothing about verification.
var shorts = []struct {
	name, mode, without string // without lists parts that are left out
	open                func(*testing.T, *drivertest.Setup) error
	want                string // the counter or rule that detects it
}{
	{"a route round the bridge", "netns/published", "", routeRoundBridge, "b/br0.tx_bytes"},
	{"a relay instead of DNAT", "netns/published", "", relayInstead, "b/tare.forward_in_bytes"},
	{"a relay instead of DNAT, both bridged", "netns/bridge", "", relayInstead, "b/tare.forward_in_bytes"},
	{"masquerade removed, routed back", "netns/bridge", "", withoutMasquerade, "masquerade_packets"},
	{"a cable beside a router", "netns/colocated", "bridge", cable, "a/veth0"},
	{"a cable beside the routed tunnel", "netns/vxlan", "bridge", cable, "a/eth0.tx_bytes"},
	{"a cable beside the hosts' tunnel", "netns/vxlan", "namespace bridge", cable, "a/eth0.tx_bytes"},
	{"a route round the veth", "netns/published", "bridge conntrack filter masquerade dnat", sideLink, "b/veth0.tx_bytes"},
	{"masquerade removed without the forward chain", "netns/bridge", "filter dnat", withoutMasquerade, "masquerade_packets"},
	{"a relay instead of DNAT without a bridge", "netns/published", "bridge", relayInstead, "b/tare.forward_in_bytes"},
	{"nothing that tracks connections", "netns/published", "filter masquerade dnat", withoutTracking, "b/tare.tracked_packets"},
	{"nothing that tracks connections, in the client's host", "netns/bridge", "filter masquerade dnat", withoutTracking, "a/tare.tracked_packets"},
	{"the hosts' IP stacks instead of the programs", "netns/ebpf", "", forwardInstead, "a/ebpf:veth0.out_bytes"},
	{"the server's host forwards by its IP stack", "netns/ebpf", "", forwardAtServer, "b/ebpf:veth0.in_bytes"},
}

func TestShortcutsAreVoid(t *testing.T) {
	for _, tt := range shorts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := drivertest.Build(t, netns.Driver{}, without(t, tt.mode, 1, strings.Fields(tt.without)))
			for _, kind := range []string{"tcp_stream", "tcp_rr"} {
				if _, _, err := s.Trial(t, drivertest.Params(kind), false); err != nil {
					t.Fatalf("before the shortcut, %s: %v", kind, err)
				}
			}
			before := s.Snapshot(t)
			must.Do(must.Named(t, "before the shortcut, datagrams"), s.Proof(t, before, []driver.Carried{shower(t, s, 2, 0, false, false)}))
			must.Do(t, tt.open(t, s))
			s.WaitReachable(t)
			for _, kind := range []string{"tcp_stream", "tcp_rr"} {
				s.Void(t, drivertest.Params(kind), tt.want)
			}
			before = s.Snapshot(t)
			err := s.Proof(t, before, []driver.Carried{shower(t, s, 2, 0, false, false)})
			must.FailFor(t, "datagrams over the shortcut", err, tt.want)
		})
	}
}

// both returns the namespaces of the two endpoints.
func both(s *drivertest.Setup) (client, server *linuxnet.NS) {
	c, srv := netns.Namespaces(s.Path)
	return c, srv
}

// cable connects the endpoints directly.
func cable(_ *testing.T, s *drivertest.Setup) error { return s.Cable() }

// routeRoundBridge adds a second link between the published sandbox and its host, and a
// host route over it.
func routeRoundBridge(t *testing.T, s *drivertest.Setup) error {
	own, b := s.Path.Pairs[0].Server.Listen[0].Addr(), s.Lab.B.NS
	return errors.Join(
		sideLink(t, s),
		// The forward chain accepts only packets through the bridge.
		b.Rules().DropTable("tare"),
		b.Rules().Gateway(linuxnet.Gateway{Table: "tare", Bridge: "side0", Rules: linuxnet.EngineRules, Publish: []linuxnet.Published{{Port: 5201, To: netip.AddrPortFrom(own, 5201)}}}),
	)
}

// sideLink adds only the link and the route.
func sideLink(_ *testing.T, s *drivertest.Setup) error {
	_, server := both(s)
	own := s.Path.Pairs[0].Server.Listen[0].Addr()
	client := s.Lab.A.Addr[0]
	b := s.Lab.B.NS
	return errors.Join(
		b.Links().Veth(linuxnet.Device{Name: "side0"}, server, linuxnet.Device{Name: "side1"}),
		b.Links().Up("side0"), server.Links().Up("side1"),
		b.Routes().Address("side0", netip.MustParsePrefix("198.19.255.1/24")),
		server.Routes().Address("side1", netip.MustParsePrefix("198.19.255.2/24")),
		b.Routes().Route(netip.PrefixFrom(own, 32), netip.MustParseAddr("198.19.255.2"), "side0"),
		server.Routes().Route(netip.PrefixFrom(client, 32), netip.MustParseAddr("198.19.255.1"), "side1"),
	)
}

// withoutTracking removes what has the kernel track connections.
func withoutTracking(_ *testing.T, s *drivertest.Setup) error {
	var errs []error
	for at, host := range map[string]*linuxnet.NS{"a": s.Lab.A.NS, "b": s.Lab.B.NS} {
		if slices.ContainsFunc(s.Path.Rules, func(r driver.Rule) bool { return strings.HasPrefix(r.Counter, at+"/tare.") }) {
			errs = append(errs, host.Rules().DropChain("tare", "track"))
		}
	}
	return errors.Join(errs...)
}

// forwardInstead detaches the programs, so that both hosts forward the packets themselves.
func forwardInstead(t *testing.T, s *drivertest.Setup) error {
	return errors.Join(netns.DetachPrograms(s.Path, 0), forwardAtServer(t, s))
}

// forwardAtServer does the same on the server's host only.
func forwardAtServer(_ *testing.T, s *drivertest.Setup) error {
	return netns.DetachPrograms(s.Path, 1)
}

// relayInstead removes the DNAT rule and lets a process on b forward the connections, as a
// userland proxy would.
func relayInstead(t *testing.T, s *drivertest.Setup) error {
	target := s.Path.Pairs[0].Server
	b := s.Lab.B.NS
	if err := b.Rules().DropChain("tare", "prerouting"); err != nil {
		return err
	}
	relayDatagrams(t, b, target)
	return drivertest.RelayTCP(t, b, target.Dial[0], target.Listen[0])
}

// relayDatagrams does the same for UDP, in one direction.
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
			_, _ = out.Write(buf[:n]) // nothing listens between two showers
		}
	}()
}

// withoutMasquerade keeps the client's own address and adds a return route on b.
func withoutMasquerade(_ *testing.T, s *drivertest.Setup) error {
	behind := s.Lab.Addresses(lab.NetA, 0)[0].Masked()
	return errors.Join(
		s.Lab.A.NS.Rules().DropChain("tare", "postrouting"),
		s.Lab.B.NS.Routes().Route(behind, s.Lab.A.Addr[0], ""),
		// Replies now arrive addressed to the sandbox itself, as established traffic, which
		// the forward chain of a accepts.
	)
}
