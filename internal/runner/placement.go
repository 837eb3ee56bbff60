package runner

import (
	"fmt"
	"net/netip"

	"tare/internal/study"
)

// place chooses the CPUs of the two ends, -1 for the scheduler's choice. The last
// CPU comes first: on most machines the first ones serve interrupts.
func place(placement string, cpus []int) (client, server int) {
	n := len(cpus)
	switch {
	case n == 0 || placement == study.Free:
		return -1, -1
	case placement == study.TwoCores && n > 1:
		return cpus[n-2], cpus[n-1]
	default:
		return cpus[n-1], cpus[n-1]
	}
}

// withPort puts the port that the server opened into an address that left the
// choice to it.
func withPort(address string, port uint16) (string, error) {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return "", fmt.Errorf("dial %q: %w", address, err)
	}
	if a.Port() != 0 {
		return address, nil
	}
	return netip.AddrPortFrom(a.Addr(), port).String(), nil
}
