package procpath

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"tare/internal/driver"
)

// reachWithin bounds how long the first datagrams may take there and back, on a real CPU.
// What has just been made answers in milliseconds; a handshake that is lost is tried
// again after 5 s.
const reachWithin = 12 * time.Second

// CheckReachable sends a datagram from the client's sandbox of the first pair to the server's
// and back, over each address family. through names in an error what it has to cross.
func (p *Path) CheckReachable(ctx context.Context, through string) error {
	within := driver.ScaleTimeout(reachWithin)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %v", within))
	defer cancel()
	for _, listen := range p.Pairs()[0].Server.Listen {
		if err := p.echo(ctx, listen.Addr()); err != nil {
			return fmt.Errorf("send a datagram through %s, from sandbox client to %s and back: %w", through, listen.Addr(), err)
		}
	}
	return nil
}

// echo waits until a datagram has come back from an address of the server's.
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
			_, _ = server.WriteToUDPAddrPort(buf[:n], back) // what is lost is asked for again
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
			last = err // an ICMP answer to the one before, for instance
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
