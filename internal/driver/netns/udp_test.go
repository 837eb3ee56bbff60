//go:build linux

package netns_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// The datagrams of a shower: enough to distinguish them from background packets.
const (
	datagram  = 1000 // bytes of payload
	datagrams = 100  // of each flow
)

// shower sends datagrams over the first pair of a path, from the given client port on if it
// is not 0, and returns what both endpoints would report. With echo the server sends each
// one back.
func shower(t *testing.T, s *drivertest.Setup, flows int, from uint16, ipv6, echo bool) driver.Carried {
	t.Helper()
	clientNS, serverNS := both(s)
	listen, dial := must.Get2(s.Path.Pairs[0].Server.Reach(ipv6))(t)
	server := socket(t, serverNS, func() (*net.UDPConn, error) { return net.ListenUDP("udp", net.UDPAddrFromAddrPort(listen)) })
	dial = netip.AddrPortFrom(dial.Addr(), server.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	got := make(chan int64, 1)
	go func() { got <- count(server, int64(flows)*datagrams, echo) }()
	var wg sync.WaitGroup
	back := make([]int64, flows)
	for i := range flows {
		c := socket(t, clientNS, func() (*net.UDPConn, error) {
			local := &net.UDPAddr{}
			if from > 0 {
				local.Port = int(from) + i
			}
			return net.DialUDP("udp", local, net.UDPAddrFromAddrPort(dial))
		})
		wg.Go(func() {
			defer c.Close()
			for n := range datagrams {
				must.EqualFor(t, "send", nil, must.Err(c.Write(make([]byte, datagram))))
				if n%8 == 7 {
					time.Sleep(time.Millisecond) // an unpaced sender overruns the receiver
				}
			}
			if echo {
				back[i] = count(c, datagrams, false)
			}
		})
	}
	wg.Wait()
	arrived := <-got
	server.Close()
	client := traffic.Report{End: result.End{Sent: int64(flows * datagrams * datagram)}, Connections: flows, Datagrams: &traffic.Datagrams{}}
	answers := traffic.Report{End: result.End{Received: arrived * datagram}, Connections: flows, Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Received: arrived}}}}
	for _, n := range back {
		client.Received += n * datagram
		client.Datagrams.Flows = append(client.Datagrams.Flows, traffic.FlowCount{Sent: datagrams, Received: n})
	}
	if echo {
		answers.Sent, answers.Datagrams.Flows[0].Sent = answers.Received, arrived
	}
	must.True(t, arrived >= datagrams/2, "%d of %d datagrams arrived", arrived, flows*datagrams)
	return driver.CarriedBy(client, answers)
}

// socket opens a socket in a namespace until the test ends.
func socket(t *testing.T, ns *linuxnet.NS, open func() (*net.UDPConn, error)) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	must.Do(t, ns.Do(func() (err error) {
		c, err = open()
		return err
	}))
	t.Cleanup(func() { c.Close() })
	return c
}

// count reads datagrams until all have arrived, or none for a while, and optionally sends them back.
func count(c *net.UDPConn, all int64, echo bool) (n int64) {
	buf := make([]byte, 2*datagram)
	for n < all {
		if err := c.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
			return n
		}
		size, from, err := c.ReadFromUDPAddrPort(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			return n
		}
		if err != nil || size != datagram {
			continue
		}
		n++
		if echo {
			_, _ = c.WriteToUDPAddrPort(buf[:size], from) // lost datagrams are not counted
		}
	}
	return n
}

// Every mode carries datagrams, in one direction and both, and is proven by them.
func TestDatagrams(t *testing.T) {
	drivertest.NeedLab(t)
	d := netns.Driver{}
	for _, m := range d.Modes() {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			s := drivertest.Provision(t, d, m.ID, nil)
			for _, echo := range []bool{false, true} {
				ipv6 := echo && s.Lab.IPv6
				before := s.Snapshot(t)
				carried := shower(t, s, 3, 0, ipv6, echo)
				must.EqualFor(t, fmt.Sprintf("ipv6 %t, echo %t", ipv6, echo), nil, s.Proof(t, before, []driver.Carried{carried}))
			}
		})
	}
}

// Datagrams that a limited underlay drops do not make its path void.
func TestDatagramsThatAreLost(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"host", "netns/bridge", "netns/vxlan"} {
		s := drivertest.Provision(t, netns.Driver{}, mode, func(l *lab.Spec) { l.Rate = 1e6 })
		before := s.Snapshot(t)
		carried := shower(t, s, 4, 0, false, false)
		must.EqualFor(t, mode, nil, s.Proof(t, before, []driver.Carried{carried}))
		if f := carried.Forward; f.Payload >= f.Wire {
			t.Errorf("%s: %d of %d bytes arrived over 1 Mbit/s: nothing was tested", mode, f.Payload, f.Wire)
		}
	}
}

// A trial with the same addresses and ports as the previous one matches the rules again:
// its first packet is again the first of a connection.
func TestForget(t *testing.T) {
	const from = 40000
	s := drivertest.Provision(t, netns.Driver{}, "netns/bridge", nil)
	for range 2 {
		before := s.Snapshot(t)
		must.Equal(t, nil, s.Proof(t, before, []driver.Carried{shower(t, s, 2, from, false, true)}))
	}
	before := must.Get(s.Path.Snapshot(t.Context()))(t)
	must.True(t, s.Proof(t, before, []driver.Carried{shower(t, s, 2, from, false, true)}) != nil, "the kernel had nothing to forget: nothing was tested")
}
