// Package wireguard builds modes in which WireGuard carries the sandboxes' subnets between
// two hosts: in the kernel, or with the Go library in this program.
package wireguard

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// Command is the hidden subcommand under which this program runs one endpoint of a
// WireGuard tunnel.
const Command = "wireguard"

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// implementation is what encrypts: the kernel, or the library in a process of this program.
type implementation struct{ library bool }

// rows are the modes of this package.
func rows() labdriver.Rows[implementation] {
	mode := func(id, title string) driver.Mode {
		return driver.Mode{ID: id, Title: title, Baseline: "host", MTU: true, Headers: driver.WireGuardHeaders, Detour: "a/eth0.tx_bytes"}
	}
	return labdriver.Rows[implementation]{
		{Mode: mode("wireguard/kernel", "both endpoints behind hosts joined by WireGuard, in the kernel")},
		{Mode: mode("wireguard/userspace", "both endpoints behind hosts joined by WireGuard, in userspace: the current Go library"), Build: implementation{library: true}},
	}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }
