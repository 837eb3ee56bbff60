//go:build linux

package netns_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
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
	"tare/internal/timelimit"
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
	got, ended := make(chan int64, 1), make([]chan struct{}, flows)
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	go func() { got <- count(server, echo, ended) }()
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
			back[i] = end(t, c, i, echo, ended[i])
		})
	}
	wg.Wait()
	server.Close()
	arrived := <-got
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

// end tells the server that a flow has sent everything, by a datagram with its number, again and again until that has arrived behind all
// others, and with echo has come back. It returns how many came back.
func end(t *testing.T, c *net.UDPConn, flow int, echo bool, ended <-chan struct{}) (n int64) {
	t.Helper()
	buf := make([]byte, 2*datagram)
	for until := time.Now().Add(timelimit.Scaled(20 * time.Second)); time.Now().Before(until); {
		_, _ = c.Write([]byte{byte(flow)}) // refused where nothing listens
		if !echo {
			select {
			case <-ended:
				return 0
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		must.Do(t, c.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
		for {
			size, err := c.Read(buf)
			if err != nil {
				break
			}
			if size == 1 {
				return n
			}
			n++
		}
	}
	t.Errorf("the end of flow %d did not arrive", flow)
	return n
}

// count reads datagrams until the socket is closed, optionally sends them back, and closes the channel of each flow whose end has arrived.
func count(c *net.UDPConn, echo bool, ended []chan struct{}) (n int64) {
	buf, seen := make([]byte, 2*datagram), make([]bool, len(ended))
	for {
		size, from, err := c.ReadFromUDPAddrPort(buf)
		switch {
		case errors.Is(err, net.ErrClosed):
			return n
		case err == nil && size == datagram:
			n++
		case err == nil && size == 1 && !seen[buf[0]]:
			seen[buf[0]] = true
			close(ended[buf[0]])
		}
		if echo && err == nil {
			_, _ = c.WriteToUDPAddrPort(buf[:size], from) // lost datagrams are not counted
		}
	}
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
