package nstest

import (
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
)

// ports counts those that FreePort has given.
var ports atomic.Uint32 //nolint:gochecknoglobals // of all tests of this process, which run at once

// FreePort returns a port of 127.0.0.1 that nothing listens at. It gives each only once, and none of those that kernels choose for
// connections and listeners (from 32768 on Linux), so that no other test takes it meanwhile.
func FreePort(t testing.TB) netip.AddrPort {
	t.Helper()
	const first, end = 10_000, 30_000
	for {
		n := first + ports.Add(1)
		if n >= end {
			t.Fatal("no port is left")
		}
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(n))
		if l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at)); err == nil {
			_ = l.Close()
			return at
		}
	}
}
