package drops_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
	"tare/internal/observe/drops"
	"tare/internal/result"
)

// What the kernel drops in a namespace of our own is counted to the datagram: the
// path is loopback, on which nothing is lost but by the cause that is set up. What was
// received and what was dropped must add up to what was sent. Only packets that were
// dropped while another was counted on the same CPU are missed, and Found says so.
func TestReasons(t *testing.T) {
	w := watcher(t)
	ns := namespace(t, "reasons")
	const n = 500
	for _, tt := range []struct {
		name, address, reason, location, place string
		closed                                 bool // nobody listens
		filter                                 bool // a rule drops them
	}{
		{name: "tiny buffer", address: "127.0.0.1", reason: "SOCKET_RCVBUFF", place: result.PlaceReceive},
		{name: "tiny buffer IPv6", address: "::1", reason: "SOCKET_RCVBUFF", place: result.PlaceReceive},
		{name: "no socket", address: "127.0.0.1", reason: "NO_SOCKET", location: "__udp4_lib_rcv", place: result.PlaceProtocol, closed: true},
		{name: "no socket IPv6", address: "::1", reason: "NO_SOCKET", place: result.PlaceProtocol, closed: true},
		{name: "rule", address: "127.0.0.1", reason: "NETFILTER_DROP", place: result.PlaceNetfilter, filter: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			address := netip.MustParseAddr(tt.address)
			c, other := listen(t, ns, netip.AddrPortFrom(address, 0).String()), listen(t, ns, netip.AddrPortFrom(address, 0).String())
			port := portOf(c)
			if tt.closed {
				c.Close()
			}
			if tt.filter {
				reject(t, ns, port)
			}
			s := start(t, w, drops.Flow{Ends: []netip.AddrPort{netip.AddrPortFrom(address, port)}})
			send(t, ns, netip.AddrPortFrom(address, port), n)
			send(t, ns, netip.AddrPortFrom(address, portOf(other)), n) // another flow's
			if address.Is4() {
				send(t, ns, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), port), n) // another address's
			}
			if tt.closed {
				c = nil
			}
			got := settle(t, s, c, n)
			flows, tol := stop(t, s, 1)
			found, others := sum(flows[0], tt.reason)
			if want := int64(n - got); !tol.fits(found, want) || want == 0 || others != 0 {
				t.Errorf("%d of %d arrived, %d dropped by %s, %d by others: %+v", got, n, found, tt.reason, others, flows[0])
			}
			for _, d := range flows[0] {
				if d.Location == "" || drops.Place(d) != tt.place {
					t.Errorf("%+v is at %q, want %q", d, drops.Place(d), tt.place)
				}
			}
		})
	}
}

// reject makes a rule that drops what comes in for a port.
func reject(t *testing.T, ns *linuxnet.NS, port uint16) {
	t.Helper()
	err := ns.Do(func() error {
		c, err := nftables.New()
		if err != nil {
			return err
		}
		table := c.AddTable(&nftables.Table{Name: "drops", Family: nftables.TableFamilyINet})
		chain := c.AddChain(&nftables.Chain{Name: "input", Table: table, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter})
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
			&expr.Cmp{Register: 1, Op: expr.CmpOpEq, Data: []byte{byte(port >> 8), byte(port)}},
			&expr.Verdict{Kind: expr.VerdictDrop},
		}})
		return c.Flush()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A packet that stands for many datagrams counts as so many.
func TestSuperPackets(t *testing.T) {
	w := watcher(t)
	ns := namespace(t, "super")
	for _, tt := range []struct {
		name string
		gro  int
	}{{"received one by one", 0}, {"received whole", 1}} {
		t.Run(tt.name, func(t *testing.T) {
			c := listen(t, ns, "127.0.0.1:0")
			raw, err := c.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			if cerr := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO, tt.gro) }); cerr != nil || err != nil {
				t.Fatal(cerr, err)
			}
			const packets, each = 40, 20
			s := start(t, w, drops.Flow{Ends: ends(portOf(c))})
			err = ns.Do(func() error {
				fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, size); err != nil {
					return err
				}
				to := &unix.SockaddrInet4{Port: int(portOf(c)), Addr: [4]byte{127, 0, 0, 1}}
				for range packets {
					if err := unix.Sendto(fd, make([]byte, each*size), 0, to); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			got := settle(t, s, c, packets*each)
			flows, tol := stop(t, s, 1)
			found, others := sum(flows[0], "SOCKET_RCVBUFF")
			if want := int64(packets*each - got); !tol.fits(found, want) || want < packets*each/2 || others != 0 {
				t.Errorf("%d of %d arrived, found %+v", got, packets*each, flows[0])
			}
		})
	}
}

// What is dropped inside a tunnel is dropped with the tunnel's ports outside.
func TestInsideVXLAN(t *testing.T) {
	w := watcher(t)
	a, b := namespace(t, "a"), namespace(t, "b")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(a.Veth(linuxnet.Device{Name: "u"}, b, linuxnet.Device{Name: "u"}))
	for i, ns := range []*linuxnet.NS{a, b} {
		outer := netip.AddrFrom4([4]byte{198, 18, 0, byte(i + 1)})
		must(ns.Address("u", netip.PrefixFrom(outer, 24)))
		must(ns.Up("u"))
		must(ns.VXLAN(linuxnet.VXLAN{Device: linuxnet.Device{Name: "v"}, ID: 7, Local: outer}, ns))
		must(ns.Address("v", netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 1, byte(i + 1)}), 24)))
		must(ns.Up("v"))
	}
	mac, err := b.HardwareAddr("v")
	must(err)
	must(a.AddVXLANRemote("v", mac, netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.18.1.2")))
	must(a.Limit("u", 1e6, 1500)) // the tunnel's packets queue behind 1 Mbit/s, and most are dropped
	c := listen(t, b, "198.18.1.2:0")
	s := start(t, w, drops.Flow{Ends: []netip.AddrPort{c.LocalAddr().(*net.UDPAddr).AddrPort()}}, drops.Flow{Ends: ends(1)})
	// What is queued counts against its sender's buffer: one socket alone would wait.
	const sockets, each = 10, 80
	const n = sockets * each
	for range sockets {
		send(t, a, netip.AddrPortFrom(netip.MustParseAddr("198.18.1.2"), portOf(c)), each)
	}
	got := settle(t, s, c, n)
	flows, tol := stop(t, s, 2)
	booked := map[string]int64{}
	for _, d := range flows[0] {
		booked[drops.Place(d)] += d.Count
	}
	if all := booked[result.PlaceQdisc] + booked[result.PlaceReceive]; !tol.fits(all, int64(n-got)) || booked[result.PlaceQdisc] < n/4 || len(flows[1]) > 0 {
		t.Errorf("%d of %d arrived, found %+v", got, n, flows)
	}
}

// Two lanes whose servers are published on one port are told apart by their turns;
// one that has a port for itself does not need one.
func TestTurns(t *testing.T) {
	w := watcher(t)
	first, second := namespace(t, "first"), namespace(t, "second")
	to := netip.MustParseAddrPort("127.0.0.1:15201")
	own := netip.MustParseAddrPort("127.0.0.1:15301")
	s := start(t, w, drops.Flow{Ends: []netip.AddrPort{to}}, drops.Flow{Ends: []netip.AddrPort{to, own}}, drops.Flow{Ends: []netip.AddrPort{to}, TCP: true})
	want := []int64{0, 0, 0}
	for round := range 3 {
		for lane, ns := range []*linuxnet.NS{first, second} {
			if err := s.Turn(lane); err != nil {
				t.Fatal(err)
			}
			n := 10 + round + 20*lane
			send(t, ns, to, n)
			want[lane] += int64(n)
			settle(t, s, nil, int(want[0]+want[1])) // before the next one's turn
		}
	}
	if err := s.Turn(0); err != nil {
		t.Fatal(err)
	}
	send(t, second, own, 5)
	want[1] += 5
	settle(t, s, nil, int(want[0]+want[1]))
	flows, tol := stop(t, s, 3)
	for i := range want {
		if got, others := sum(flows[i], "NO_SOCKET"); !tol.fits(got, want[i]) || others != 0 {
			t.Errorf("flow %d: %+v, want %d", i, flows[i], want[i])
		}
	}
}

// A flow whose ports change, as those of the steps of a search do, keeps its counts and
// lets go of its old ports.
func TestPortsChange(t *testing.T) {
	w := watcher(t)
	ns := namespace(t, "change")
	const n = 4
	s := start(t, w, drops.Flow{})
	for port := uint16(15210); port < 15213; port++ {
		if err := s.Set(0, drops.Flow{Ends: ends(port)}); err != nil {
			t.Fatal(err)
		}
		for old := uint16(15210); old <= port; old++ {
			send(t, ns, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), old), n)
		}
		settle(t, s, nil, n*int(port-15209))
	}
	if err := s.Set(1, drops.Flow{}); err == nil {
		t.Error("a flow too many was taken")
	}
	flows, tol := stop(t, s, 1)
	if got, _ := sum(flows[0], "NO_SOCKET"); !tol.fits(got, 3*n) {
		t.Errorf("%+v, want %d", flows[0], 3*n)
	}
}

// A session counts what is its own, not what the one before did.
func TestSessionsAreApart(t *testing.T) {
	w := watcher(t)
	ns := namespace(t, "apart")
	to := netip.MustParseAddrPort("127.0.0.1:15202")
	for i, n := range []int{7, 3, 0} {
		s := start(t, w, drops.Flow{Ends: ends(to.Port())})
		if _, err := w.Start(1); err == nil {
			t.Error("two sessions at once")
		}
		send(t, ns, to, n)
		settle(t, s, nil, n)
		flows, tol := stop(t, s, 1)
		if got, _ := sum(flows[0], "NO_SOCKET"); !tol.fits(got, int64(n)) {
			t.Errorf("session %d: %+v, want %d", i, flows[0], n)
		}
		if err := s.Stop(); err == nil {
			t.Error("stopped twice")
		}
		if _, err := s.Read(0); err == nil {
			t.Error("read what has been stopped")
		}
		send(t, ns, to, 11) // between sessions
	}
}

func TestOverTCP(t *testing.T) {
	w := watcher(t)
	ns := namespace(t, "tcp")
	s := start(t, w, drops.Flow{Ends: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:15203")}, TCP: true})
	const n = 9
	err := ns.Do(func() error {
		for range n {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			err = unix.Connect(fd, &unix.SockaddrInet4{Port: 15203, Addr: [4]byte{127, 0, 0, 1}})
			unix.Close(fd)
			if !errors.Is(err, unix.ECONNREFUSED) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	settle(t, s, nil, n)
	flows, tol := stop(t, s, 1)
	if got, _ := sum(flows[0], "NO_SOCKET"); !tol.fits(got, n) {
		t.Errorf("%+v, want %d", flows[0], n)
	}
}
