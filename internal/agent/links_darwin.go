package agent

import (
	"fmt"
	"syscall"

	"tare/internal/agent/wire"
	"tare/internal/observe/netstack"
)

// readLinks reads the network devices with their counters.
func readLinks() ([]wire.Link, error) {
	list, err := syscall.RouteRIB(syscall.NET_RT_IFLIST2, 0) //nolint:staticcheck // its replacement, x/net/route, does not read these counters
	if err != nil {
		return nil, fmt.Errorf("read devices: %w", err)
	}
	devices, err := netstack.ParseInterfaces(list)
	if err != nil {
		return nil, fmt.Errorf("read devices: %w", err)
	}
	var out []wire.Link
	for _, d := range devices {
		out = append(out, wire.Link{
			Name: d.Name, Index: d.Index, MTU: d.MTU, Up: d.Up, Loopback: d.Loopback,
			TxBytes: d.TxBytes, RxBytes: d.RxBytes, TxPackets: d.TxPackets, RxPackets: d.RxPackets,
		})
	}
	return out, nil
}
