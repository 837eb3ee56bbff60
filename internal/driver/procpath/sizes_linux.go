package procpath

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"time"

	"tare/internal/driver"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/timelimit"
	"tare/internal/warning"
)

// The sizes of the headers of a datagram in bytes, over IPv4 and IPv6.
const (
	headers4 = 20 + 8
	headers6 = 40 + 8
)

// largestPacket is the size of the largest IP packet in bytes; a loopback's MTU is larger.
const largestPacket = 65535

// sizesTime limits how long a datagram of the largest size may take to cross a path in one direction.
// It is repeated meanwhile: a sender may have to learn of a smaller MTU first.
func sizesTime() time.Duration { return timelimit.Scaled(2 * time.Second) }

// CheckSizes sends datagrams as large as the MTU of the client's device allows from the client of the
// first pair to the server, and as large ones back, and records whether they pass: packets of passed
// bytes do. IP may fragment what a smaller MTU on the path does not let through.
func (p *Path) CheckSizes(ctx context.Context, passed int) error {
	if p.OnLab.Split() {
		return nil
	}
	pair := p.Pairs()[0]
	from, at := p.PairNamespaces(1)
	listen, dial := pair.Server.Listen[0], pair.Server.Dial[0]
	route, err := from.Routes().Toward(dial.Addr())
	mtu := min(route.MTU, largestPacket)
	if err != nil || mtu <= passed {
		return err
	}
	headers := headers4
	if dial.Addr().Is6() {
		headers = headers6
	}
	watch := driver.WatchStacks(ctx, p.Stacks(), p.Pairs())
	through, err := crossBothWays(ctx, from, at, listen, dial, mtu-headers)
	if err != nil {
		return err
	}
	p.Sizes = driver.PacketSizes{Passed: mtu}
	if !through {
		p.Sizes = driver.PacketSizes{Passed: passed, Dropped: mtu, Cause: watch.Cause(ctx, 0)}
		p.Warnings = append(p.Warnings, result.Warning{Code: string(warning.LargeDropped), Scope: p.Mode,
			Text:   p.Sizes.String() + ": TCP streams and large datagrams cannot cross this path. Remove the filter, or set the MTU of the endpoints to what passes.",
			Values: result.NewValues(strconv.Itoa(p.Sizes.Dropped), strconv.Itoa(p.Sizes.Passed))})
	}
	return nil
}

// crossBothWays reports whether a datagram with size bytes of payload crosses, and one back.
func crossBothWays(ctx context.Context, from, at *linuxnet.NS, listen, dial netip.AddrPort, size int) (bool, error) {
	client, server, err := DatagramSockets(from, at, listen, dial)
	if err != nil {
		return false, err
	}
	defer client.Close()
	defer server.Close()
	go answerSizes(server, size)
	const small = 4
	for _, there := range []int{size, small} {
		back := size + small - there
		out, in := make([]byte, there), make([]byte, size)
		binary.BigEndian.PutUint32(out, uint32(back)) //nolint:gosec // an MTU
		crossed := false
		for until := time.Now().Add(sizesTime()); !crossed && time.Now().Before(until); {
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			const again = 20 * time.Millisecond
			if _, err := client.Write(out); err != nil { // for instance an ICMP error for the previous one
				time.Sleep(again)
				continue
			}
			if err := client.SetReadDeadline(time.Now().Add(again)); err != nil {
				return false, err
			}
			n, err := client.Read(in)
			crossed = err == nil && n == back
			if timeout := net.Error(nil); err != nil && (!errors.As(err, &timeout) || !timeout.Timeout()) {
				time.Sleep(again)
			}
		}
		if !crossed {
			return false, nil
		}
	}
	return true, nil
}

// answerSizes answers each datagram with as many bytes as it asks for, size at most, until the socket
// is closed.
func answerSizes(server *net.UDPConn, size int) {
	buf := make([]byte, max(size, 4))
	for {
		n, back, err := server.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		if n >= 4 {
			_, _ = server.WriteToUDPAddrPort(buf[:min(int(binary.BigEndian.Uint32(buf)), size)], back) // the client repeats what is lost
		}
	}
}

// DatagramSockets opens a socket in the client's namespace that is connected to one in the server's. Port 0 to
// dial is the port that the server got.
func DatagramSockets(from, at *linuxnet.NS, listen, dial netip.AddrPort) (client, server *net.UDPConn, err error) {
	err = at.Do(func() (err error) {
		server, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(listen))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if dial.Port() == 0 {
		dial = netip.AddrPortFrom(dial.Addr(), server.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	}
	err = from.Do(func() (err error) {
		client, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(dial))
		return err
	})
	if err != nil {
		server.Close()
		return nil, nil, err
	}
	return client, server, nil
}
