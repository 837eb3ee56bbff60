package agent

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/windows"

	"tare/internal/agent/wire"
	"tare/internal/observe/netstack"
)

// readLinks reads the network devices that have addresses or could have some. It leaves out the filters
// that Windows lists as devices, too.
func readLinks() ([]wire.Link, error) {
	devices, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("read devices: %w", err)
	}
	var out []wire.Link
	for _, d := range devices {
		row, err := netstack.ReadInterface(d.Index)
		if err != nil {
			return nil, fmt.Errorf("read counters of %s: %w", d.Name, err)
		}
		out = append(out, wire.Link{
			Name: d.Name, Index: d.Index, MTU: int(int32(max(0, d.MTU))), //nolint:gosec // the loopback device has 2^32-1
			Up: d.Flags&net.FlagUp != 0, Loopback: d.Flags&net.FlagLoopback != 0,
			RxBytes: row.InOctets, TxBytes: row.OutOctets,
			RxPackets: row.InUcastPkts + row.InNUcastPkts, TxPackets: row.OutUcastPkts + row.OutNUcastPkts,
		})
	}
	return out, nil
}

// localToward returns the local address from which an address is dialled. No packet is sent:
// connecting a UDP socket only looks up the route. Package net cannot open one under Wine.
func localToward(address string) (netip.Addr, error) {
	to, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Addr{}, err
	}
	to = to.Unmap()
	family, remote := windows.AF_INET6, windows.Sockaddr(&windows.SockaddrInet6{Port: 9, Addr: to.As16()})
	if to.Is4() {
		family, remote = windows.AF_INET, &windows.SockaddrInet4{Port: 9, Addr: to.As4()}
	}
	var data windows.WSAData
	if err := windows.WSAStartup(0x202, &data); err != nil {
		return netip.Addr{}, fmt.Errorf("start Winsock: %w", err)
	}
	defer func() { _ = windows.WSACleanup() }()
	h, err := windows.Socket(family, windows.SOCK_DGRAM, windows.IPPROTO_UDP)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("open socket: %w", err)
	}
	defer func() { _ = windows.Closesocket(h) }()
	if err := windows.Connect(h, remote); err != nil {
		return netip.Addr{}, fmt.Errorf("find the route to %s: %w", address, err)
	}
	local, err := windows.Getsockname(h)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the route to %s: %w", address, err)
	}
	switch local := local.(type) {
	case *windows.SockaddrInet4:
		return netip.AddrFrom4(local.Addr), nil
	case *windows.SockaddrInet6:
		return netip.AddrFrom16(local.Addr), nil
	}
	return netip.Addr{}, fmt.Errorf("find the route to %s: the socket has a %T", address, local)
}
