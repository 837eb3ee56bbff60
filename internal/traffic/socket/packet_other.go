//go:build !windows

package socket

import (
	"context"
	"net"
	"net/netip"
)

// ListenProbes opens a TCP port for probes, which are not timed. Close ends a call of Accept.
func ListenProbes(address string) (Listener, error) {
	return Portable{}.ListenTCP(address, probeOptions())
}

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
