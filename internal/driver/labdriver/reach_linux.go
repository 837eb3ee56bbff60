package labdriver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"tare/internal/driver"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/timelimit"
	"tare/internal/warning"
)

// reachTimeout limits how long the first datagrams may take to return, on a real CPU. A path
// that has just been set up answers within milliseconds; a lost handshake is repeated after
// 5 s.
const reachTimeout = 12 * time.Second

// sizesTime limits how long a datagram of the largest size may take to cross a path in one direction.
// It is repeated meanwhile: a sender may have to learn of a smaller MTU first.
func sizesTime() time.Duration { return timelimit.Scaled(2 * time.Second) }

// The sizes of the headers of a datagram in bytes, over IPv4 and IPv6.
const (
	headers4 = 20 + 8
	headers6 = 40 + 8
)

// small is the payload in bytes of the datagrams that carry only the size of their answer.
const small = 4

// largestPacket is the size of the largest IP packet in bytes; a loopback's MTU is larger.
const largestPacket = 65535

// CheckReachable sends a datagram from the client's sandbox of the first pair to the
// server's and back, over each address family. through names in errors what the datagram
// must cross. In a split lab the sandboxes are on two machines, and whoever controls both
// checks it.
func (p *Path) CheckReachable(ctx context.Context, through string) error {
	if p.OnLab.Split() {
		return nil
	}
	within := timelimit.Scaled(reachTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %v", within))
	defer cancel()
	watch := driver.WatchStacks(ctx, p.Stacks(), p.Pairs())
	for _, listen := range p.Pairs()[0].Server.Listen {
		to := netip.AddrPortFrom(listen.Addr(), 0)
		err := p.overSockets(to, to, small, func(client *net.UDPConn) error { return exchange(ctx, client, small, small) })
		if err != nil {
			err = fmt.Errorf("send a datagram through %s, from sandbox client to %s and back: %w", through, listen.Addr(), err)
			return driver.WithCause(err, watch.Cause(ctx, 0))
		}
	}
	return p.CheckSizes(ctx, headers4+small)
}

// CheckSizes sends datagrams as large as the MTU of the client's device allows from the client of the
// first pair to the server, and as large ones back, and records whether they pass: packets of passed
// bytes do. IP may fragment what a smaller MTU on the path does not let through.
func (p *Path) CheckSizes(ctx context.Context, passed int) error {
	if p.OnLab.Split() {
		return nil
	}
	server := p.Pairs()[0].Server
	listen, dial := server.Listen[0], server.Dial[0]
	from, _ := p.PairNamespaces(1)
	route, err := from.Routes().Toward(dial.Addr())
	mtu := min(route.MTU, largestPacket)
	if err != nil || mtu <= passed {
		return err
	}
	size := mtu - headers4
	if dial.Addr().Is6() {
		size = mtu - headers6
	}
	watch := driver.WatchStacks(ctx, p.Stacks(), p.Pairs())
	p.Sizes = driver.PacketSizes{Passed: mtu}
	err = p.overSockets(listen, dial, size, func(client *net.UDPConn) error {
		return errors.Join(exchangeWithin(ctx, client, size, small), exchangeWithin(ctx, client, small, size))
	})
	if errors.Is(err, errNotCrossed) {
		err = nil
		p.Sizes = driver.PacketSizes{Passed: passed, Dropped: mtu, Cause: watch.Cause(ctx, 0)}
		p.Warnings = append(p.Warnings, result.Warning{Code: string(warning.LargeDropped), Scope: p.Mode,
			Text:   p.Sizes.String() + ": TCP streams and large datagrams cannot cross this path. Remove the filter, or set the MTU of the endpoints to what passes.",
			Values: result.NewValues(strconv.Itoa(p.Sizes.Dropped), strconv.Itoa(p.Sizes.Passed))})
	}
	return err
}

// overSockets calls try with a socket of the first client that is connected to one of the server, which
// answers what exchange sends with up to most bytes.
func (p *Path) overSockets(listen, dial netip.AddrPort, most int, try func(client *net.UDPConn) error) error {
	from, at := p.PairNamespaces(1)
	client, server, err := DatagramSockets(from, at, listen, dial)
	if err != nil {
		return err
	}
	defer client.Close()
	defer server.Close()
	go answer(server, most)
	return try(client)
}

// errNotCrossed reports that no datagram crossed in time.
var errNotCrossed = errors.New("no datagram has crossed the path")

// exchangeWithin is exchange with the time limit of a size: its error is then errNotCrossed.
func exchangeWithin(ctx context.Context, client *net.UDPConn, there, back int) error {
	limited, cancel := context.WithTimeout(ctx, sizesTime())
	defer cancel()
	err := exchange(limited, client, there, back)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return errNotCrossed
	}
	return err
}

// exchange sends datagrams of there bytes until one has returned with back bytes. If ctx is done before, the
// error is what the kernel reported last, such as an ICMP error for an earlier one, or why ctx is done.
func exchange(ctx context.Context, client *net.UDPConn, there, back int) error {
	const again = 20 * time.Millisecond
	out, in := make([]byte, there), make([]byte, max(there, back))
	binary.BigEndian.PutUint32(out, uint32(back)) //nolint:gosec // an MTU
	var last error
	for ctx.Err() == nil {
		if err := client.SetReadDeadline(time.Now().Add(again)); err != nil {
			return err
		}
		n := 0
		_, err := client.Write(out)
		if err == nil {
			n, err = client.Read(in)
		}
		if err == nil && n == back {
			return nil
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			last = err
			time.Sleep(again)
		}
	}
	if last != nil {
		return last
	}
	return context.Cause(ctx)
}

// answer answers each datagram with as many bytes as it asks for, most at most, until the socket is closed.
func answer(server *net.UDPConn, most int) {
	buf := make([]byte, max(most, small))
	for {
		n, back, err := server.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		if n >= small {
			_, _ = server.WriteToUDPAddrPort(buf[:min(int(binary.BigEndian.Uint32(buf)), len(buf))], back) // the client repeats what is lost
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
