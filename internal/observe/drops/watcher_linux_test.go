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
	"tare/internal/testkit/must"
)

// Drops in a separate namespace are counted exactly: the path is loopback, which loses
// nothing except by the cause that the test sets up. Received and dropped datagrams must
// add up to the sent ones. Only packets dropped while another was being counted on the same
// CPU are missed, and FlowDrops says so. Addresses are of no other test: drops of all namespaces are seen.
func TestReasons(t *testing.T) {
	w := watcher(t)
	ns := namespace(t, "reasons")
	const n = 500
	for _, tt := range []struct {
		name, address, reason, location, place string
		closed                                 bool // no socket listens
		filter                                 bool // a rule drops them
	}{
		{name: "tiny buffer", address: "127.249.0.1", reason: "SOCKET_RCVBUFF", place: result.PlaceReceive},
		{name: "tiny buffer IPv6", address: "::1", reason: "SOCKET_RCVBUFF", place: result.PlaceReceive},
		{name: "no socket", address: "127.249.0.1", reason: "NO_SOCKET", location: "__udp4_lib_rcv", place: result.PlaceProtocol, closed: true},
		{name: "no socket IPv6", address: "::1", reason: "NO_SOCKET", place: result.PlaceProtocol, closed: true},
		{name: "rule", address: "127.249.0.1", reason: "NETFILTER_DROP", place: result.PlaceNetfilter, filter: true},
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
				send(t, ns, netip.AddrPortFrom(netip.MustParseAddr("127.249.0.2"), port), n) // another address's
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
				must.True(t, d.Location != "" && drops.Place(d) == tt.place, "%+v is at %q, want %q", d, drops.Place(d), tt.place)
			}
		})
	}
}

// reject adds a rule that drops packets to a port.
func reject(t *testing.T, ns *linuxnet.NS, port uint16) {
	t.Helper()
	must.Do(t, ns.Do(func() error {
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
	}))
}

// A packet that stands for many datagrams counts as that many.
func TestSuperPackets(t *testing.T) {
	w := watcher(t)
	ns := namespace(t, "super")
	for _, tt := range []struct {
		name string
		gro  int
	}{{"received one by one", 0}, {"received whole", 1}} {
		t.Run(tt.name, func(t *testing.T) {
			c := listen(t, ns, "127.249.0.1:0")
			raw, err := c.SyscallConn()
			must.Do(t, err)
			if cerr := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO, tt.gro) }); cerr != nil || err != nil {
				t.Fatal(cerr, err)
			}
			const packets, each = 40, 20
			s := start(t, w, drops.Flow{Ends: []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("127.249.0.1"), portOf(c))}})
			must.Do(t, ns.Do(func() error {
				fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, size); err != nil {
					return err
				}
				to := &unix.SockaddrInet4{Port: int(portOf(c)), Addr: [4]byte{127, 249, 0, 1}}
				for range packets {
					if err := unix.Sendto(fd, make([]byte, each*size), 0, to); err != nil {
						return err
					}
				}
				return nil
			}))
			got := settle(t, s, c, packets*each)
			flows, tol := stop(t, s, 1)
			found, others := sum(flows[0], "SOCKET_RCVBUFF")
			if want := int64(packets*each - got); !tol.fits(found, want) || want < packets*each/2 || others != 0 {
				t.Errorf("%d of %d arrived, found %+v", got, packets*each, flows[0])
			}
		})
	}
}

// A packet dropped inside a tunnel has the tunnel's outer ports.
func TestInsideVXLAN(t *testing.T) {
	w := watcher(t)
	a, b := namespace(t, "a"), namespace(t, "b")
	must.Do(t, a.Links().Veth(linuxnet.Device{Name: "u"}, b, linuxnet.Device{Name: "u"}))
	inner := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 19, 249, byte(i)}) } // of no lab
	for i, ns := range []*linuxnet.NS{a, b} {
		outer := netip.AddrFrom4([4]byte{198, 18, 0, byte(i + 1)})
		must.Do(t, ns.Routes().Address("u", netip.PrefixFrom(outer, 24)))
		must.Do(t, ns.Links().Up("u"))
		must.Do(t, ns.Links().VXLAN(linuxnet.VXLAN{Device: linuxnet.Device{Name: "v"}, ID: 7, Local: outer}, ns))
		must.Do(t, ns.Routes().Address("v", netip.PrefixFrom(inner(i+1), 24)))
		must.Do(t, ns.Links().Up("v"))
	}
	mac := must.Get(b.Links().HardwareAddr("v"))(t)
	must.Do(t, a.Links().AddVXLANRemote("v", mac, netip.MustParseAddr("198.18.0.2"), inner(2)))
	must.Do(t, a.Tuning().Limit("u", 1e6, 1500)) // the tunnel's packets queue behind 1 Mbit/s, and most are dropped
	c := listen(t, b, netip.AddrPortFrom(inner(2), 0).String())
	s := start(t, w, drops.Flow{Ends: []netip.AddrPort{c.LocalAddr().(*net.UDPAddr).AddrPort()}}, drops.Flow{Ends: ends(1)})
	// Queued packets count against their sender's buffer: a single socket would block.
	const sockets, each = 10, 80
	const n = sockets * each
	for range sockets {
		send(t, a, netip.AddrPortFrom(inner(2), portOf(c)), each)
	}
	got := settle(t, s, c, n)
	flows, tol := stop(t, s, 2)
	attributed := map[string]int64{}
	for _, d := range flows[0] {
		attributed[drops.Place(d)] += d.Count
	}
	var counted int64 // a few are of the namespace itself
	for _, q := range must.Get(a.Tuning().QdiscDrops())(t) {
		counted += int64(q.Drops)
	}
	if all := attributed[result.PlaceQdisc] + attributed[result.PlaceReceive]; !tol.fits(all, int64(n-got)) || attributed[result.PlaceQdisc] > counted || attributed[result.PlaceQdisc] < counted*9/10 || counted == 0 || len(flows[1]) > 0 {
		t.Errorf("%d of %d arrived, the limit dropped %d, found %+v", got, n, counted, flows)
	}
}

// Two flows whose servers are published on one port are distinguished by SetActive; one
// with its own port does not need it.
func TestTurns(t *testing.T) {
	w := watcher(t)
	first, second := namespace(t, "first"), namespace(t, "second")
	to := netip.MustParseAddrPort("127.0.0.1:15201")
	own := netip.MustParseAddrPort("127.0.0.1:15301")
	s := start(t, w, drops.Flow{Ends: []netip.AddrPort{to}}, drops.Flow{Ends: []netip.AddrPort{to, own}}, drops.Flow{Ends: []netip.AddrPort{to}, TCP: true})
	want := []int64{0, 0, 0}
	for round := range 3 {
		for lane, ns := range []*linuxnet.NS{first, second} {
			must.Do(t, s.Turn(lane))
			n := 10 + round + 20*lane
			send(t, ns, to, n)
			want[lane] += int64(n)
			settle(t, s, nil, int(want[0]+want[1])) // before the next one becomes active
		}
	}
	must.Do(t, s.Turn(0))
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

// A flow whose ports change, such as those of the steps of a rate search, keeps its counts
// and releases its old ports.
func TestPortsChange(t *testing.T) {
	w := watcher(t)
	ns := namespace(t, "change")
	const n = 4
	s := start(t, w, drops.Flow{})
	for port := uint16(15210); port < 15213; port++ {
		must.Do(t, s.Set(0, drops.Flow{Ends: ends(port)}))
		for old := uint16(15210); old <= port; old++ {
			send(t, ns, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), old), n)
		}
		settle(t, s, nil, n*int(port-15209))
	}
	must.FailFor(t, "a flow too many was taken", s.Set(1, drops.Flow{}))
	flows, tol := stop(t, s, 1)
	if got, _ := sum(flows[0], "NO_SOCKET"); !tol.fits(got, 3*n) {
		t.Errorf("%+v, want %d", flows[0], 3*n)
	}
}

// A session does not count what the previous one did.
func TestSessionsAreApart(t *testing.T) {
	w := watcher(t)
	ns := namespace(t, "apart")
	to := netip.MustParseAddrPort("127.0.0.1:15202")
	for i, n := range []int{7, 3, 0} {
		s := start(t, w, drops.Flow{Ends: ends(to.Port())})
		must.FailFor(t, "two sessions at once", must.Err(w.Start(1)))
		send(t, ns, to, n)
		settle(t, s, nil, n)
		flows, tol := stop(t, s, 1)
		if got, _ := sum(flows[0], "NO_SOCKET"); !tol.fits(got, int64(n)) {
			t.Errorf("session %d: %+v, want %d", i, flows[0], n)
		}
		must.FailFor(t, "stopped twice", s.Stop())
		must.FailFor(t, "read what has been stopped", must.Err(s.Read(0)))
		send(t, ns, to, 11) // between sessions
	}
}

func TestOverTCP(t *testing.T) {
	w := watcher(t)
	ns := namespace(t, "tcp")
	s := start(t, w, drops.Flow{Ends: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:15203")}, TCP: true})
	const n = 9
	must.Do(t, ns.Do(func() error {
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
	}))
	settle(t, s, nil, n)
	flows, tol := stop(t, s, 1)
	if got, _ := sum(flows[0], "NO_SOCKET"); !tol.fits(got, n) {
		t.Errorf("%+v, want %d", flows[0], n)
	}
}
