//go:build linux

package linuxnet

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// A connection to a port of the range is counted once, with its TLS hello; one to another port and
// one in the clear have none. Whoever has a connection is found by its addresses.
func TestTCPIngress(t *testing.T) {
	a, b := joined(t)
	err := b.Rules().CountTCPIngress("tare", "x0", 5201, 5202, true)
	if errors.Is(err, ErrPayloadMatch) {
		testneed.Missing(t, testneed.Feature, err)
	}
	must.Do(t, err)
	var in net.Listener
	open := func(port uint16) (client, server net.Conn) {
		t.Helper()
		to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 2}), port)
		must.Do(t, b.Do(func() (err error) {
			in, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(to))
			return err
		}))
		defer in.Close()
		must.Do(t, a.Do(func() (err error) {
			client, err = net.Dial("tcp", to.String())
			return err
		}))
		t.Cleanup(func() { client.Close() })
		server = must.Get(in.Accept())(t)
		t.Cleanup(func() { server.Close() })
		return client, server
	}
	say := func(port uint16, encrypted bool) (client, server net.Conn) {
		t.Helper()
		client, server = open(port)
		if encrypted {
			go func() { _ = tls.Client(client, &tls.Config{ServerName: "x"}).Handshake() }() // nobody answers
		} else if _, err := client.Write([]byte("GET / HTTP/1.1")); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Read(make([]byte, 64)); err != nil { // so it has been counted
			t.Fatal(err)
		}
		return client, server
	}
	say(5201, true)
	say(5203, true)
	client, server := say(5202, false)
	got := must.Get(b.Rules().IngressCounts("tare"))(t)
	if got[CountOpened].Packets != 2 || got[CountClientHello].Packets != 1 || got[CountServerHello].Packets != 0 || got[CountClearHTTP].Packets != 1 || got[CountToPorts].Packets < 6 ||
		got[CountFromPorts].Packets != 0 || got[CountOtherTCP].Packets < 3 {
		t.Errorf("counters %+v", got)
	}
	local, remote := server.LocalAddr().(*net.TCPAddr).AddrPort(), client.LocalAddr().(*net.TCPAddr).AddrPort()
	must.EqualFor(t, "the connection is of", []int{os.Getpid()}, must.Get(b.Sockets().ConnectionOwners(local, remote))(t))
	if who, err := b.Sockets().ConnectionOwners(remote, local); err != nil || who != nil {
		t.Errorf("a connection of the other namespace is of %v, %v", who, err)
	}
	must.Equal(t, 2, must.Get(b.Sockets().OpenConnections(5201, 5202))(t))
	must.Equal(t, 2, must.Get(b.Sockets().OpenConnections(5201, 5202, remote.Addr()))(t)) // the port of the client is another one
	must.Equal(t, 0, must.Get(b.Sockets().OpenConnections(5201, 5202, local.Addr()))(t))
}
