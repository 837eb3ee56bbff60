package procpath

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"tare/internal/driver"
	"tare/internal/timelimit"
)

// reachTimeout limits how long the first datagrams may take to return, on a real CPU. A path
// that has just been set up answers within milliseconds; a lost handshake is repeated after
// 5 s.
const reachTimeout = 12 * time.Second

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
		if err := p.echo(ctx, listen.Addr()); err != nil {
			err = fmt.Errorf("send a datagram through %s, from sandbox client to %s and back: %w", through, listen.Addr(), err)
			return driver.WithCause(err, watch.Cause(ctx, 0))
		}
	}
	return p.CheckSizes(ctx, smallest)
}

// smallest is the size in bytes of the packets that CheckReachable sends.
const smallest = headers4 + 4

// echo waits until a datagram has returned from an address of the server.
func (p *Path) echo(ctx context.Context, to netip.Addr) error {
	from, at := p.PairNamespaces(1)
	var server, client *net.UDPConn
	err := at.Do(func() (err error) {
		server, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 0)))
		return err
	})
	if err != nil {
		return err
	}
	defer server.Close()
	go func() {
		buf := make([]byte, 64)
		for {
			n, back, err := server.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = server.WriteToUDPAddrPort(buf[:n], back) // the client repeats lost datagrams
		}
	}()
	err = from.Do(func() (err error) {
		client, err = net.DialUDP("udp", nil, server.LocalAddr().(*net.UDPAddr))
		return err
	})
	if err != nil {
		return err
	}
	defer client.Close()
	const again = 20 * time.Millisecond
	var last error
	for ctx.Err() == nil {
		if _, err := client.Write([]byte("tare")); err != nil {
			last = err // for instance an ICMP error for the previous one
		}
		if err := client.SetReadDeadline(time.Now().Add(again)); err != nil {
			return err
		}
		_, err := client.Read(make([]byte, 64))
		if err == nil {
			return nil
		}
		if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() { //nolint:errorlint // the net package returns it as it is
			last = err
			time.Sleep(again)
		}
	}
	if last != nil {
		return last
	}
	return context.Cause(ctx)
}
