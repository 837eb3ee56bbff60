//go:build !windows

package agent

import (
	"fmt"
	"net"
	"net/netip"
)

// localToward returns the local address from which an address is dialled. No packet is sent:
// connecting a UDP socket only looks up the route.
func localToward(address string) (netip.Addr, error) {
	conn, err := net.Dial("udp", net.JoinHostPort(address, "9")) //nolint:noctx // see above
	if err != nil {
		return netip.Addr{}, err
	}
	defer conn.Close()
	from, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return netip.Addr{}, fmt.Errorf("the local address toward %s: %w", address, err)
	}
	return from.Addr(), nil
}
