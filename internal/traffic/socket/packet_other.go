//go:build !windows

package socket

import (
	"context"
	"net"
	"net/netip"
)

// ListenPacket opens a UDP port for probes, which are not timed.
func ListenPacket(ctx context.Context, address string) (net.PacketConn, error) {
	return (&net.ListenConfig{}).ListenPacket(ctx, "udp", address)
}

// DialPacket opens a connected UDP socket for probes, which are not timed.
func DialPacket(to netip.AddrPort) (PacketConn, error) {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return nil, err
	}
	return c, nil
}
