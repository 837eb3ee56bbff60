package netstack

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/windows"
)

// Read reads the counters of the machine's devices. Those of its protocols and sockets are a gap. The
// argument is for systems with procfs.
func Read(string) Reading {
	r := Reading{Boot: Boot("")}
	devices, err := net.Interfaces()
	r.AddGap("devices", err)
	for _, d := range devices {
		row, err := ReadInterface(d.Index)
		r.AddGap("device "+d.Name, err)
		if err != nil {
			continue
		}
		for counter, n := range map[string]uint64{
			"rx_bytes": row.InOctets, "rx_packets": row.InUcastPkts + row.InNUcastPkts, "rx_errors": row.InErrors, "rx_dropped": row.InDiscards,
			"tx_bytes": row.OutOctets, "tx_packets": row.OutUcastPkts + row.OutNUcastPkts, "tx_errors": row.OutErrors, "tx_dropped": row.OutDiscards,
		} {
			r.Set("dev/"+d.Name+"."+counter, n)
		}
	}
	r.AddGap("protocols and sockets", errors.New("their counters are not read on Windows"))
	return r
}

// ReadInterface returns what the system knows of a device.
func ReadInterface(index int) (*windows.MibIfRow2, error) {
	row := &windows.MibIfRow2{InterfaceIndex: uint32(index)}
	if err := windows.GetIfEntry2Ex(windows.MibIfEntryNormal, row); err != nil {
		return nil, fmt.Errorf("read the device's counters: %w", err)
	}
	return row, nil
}
