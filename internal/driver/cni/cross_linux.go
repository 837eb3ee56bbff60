package cni

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"tare/internal/driver/labdriver"
	"tare/internal/timelimit"
)

// crossTimeout limits how long datagrams may take to cross a path, on a real CPU. A path that
// has just been set up answers within milliseconds.
const crossTimeout = 12 * time.Second

// again is how long an answer may take before its datagram is sent again.
const again = 20 * time.Millisecond

// cross sends n datagrams of there bytes from the client of a pair to its server, each answered
// with back bytes. Lost ones are sent again.
func (p *path) cross(ctx context.Context, pair int, listen, dial netip.AddrPort, n, there, back int) error {
	within := cmp.Or(p.within, timelimit.Scaled(crossTimeout))
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %v%s", within, p.hint()))
	defer cancel()
	from, at := p.PairNamespaces(pair)
	client, server, err := labdriver.DatagramSockets(from, at, listen, dial)
	if err != nil {
		return err
	}
	defer client.Close()
	defer server.Close()
	go echo(server, back)
	ends := p.Pairs()[pair-1]
	if err := exchange(ctx, client, n, there); err != nil {
		return fmt.Errorf("send a datagram from %s to %s at %s and back: %w", ends.Client.Name, ends.Server.Name, dial, err)
	}
	return nil
}

// echo answers each datagram with size bytes that begin as it does, until the socket is closed.
func echo(server *net.UDPConn, size int) {
	buf := make([]byte, large)
	for {
		_, from, err := server.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		_, _ = server.WriteToUDPAddrPort(buf[:size], from) // the client repeats what is lost
	}
}

// exchange sends n datagrams, each when the one before is answered.
func exchange(ctx context.Context, client *net.UDPConn, n, size int) error {
	out, in := make([]byte, size), make([]byte, large)
	for i := range uint64(n) { //nolint:gosec // a small positive number
		binary.BigEndian.PutUint64(out, i)
		for answered := false; !answered; {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if _, err := client.Write(out); err != nil { // for instance an ICMP error for the previous one
				time.Sleep(again)
				continue
			}
			if err := client.SetReadDeadline(time.Now().Add(again)); err != nil {
				return err
			}
			_, err := client.Read(in)
			var timeout net.Error
			if err != nil && (!errors.As(err, &timeout) || !timeout.Timeout()) {
				time.Sleep(again) // an ICMP error, too
			}
			answered = err == nil && binary.BigEndian.Uint64(in) == i
		}
	}
	return nil
}
