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

// The modes.
const (
	kernel    = "wireguard/kernel"
	userspace = "wireguard/userspace"
)

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	return []driver.Mode{
		{ID: kernel, Title: "both endpoints behind hosts joined by WireGuard, in the kernel", Baseline: "host", MTU: true, Headers: driver.WireGuardHeaders},
		{ID: userspace, Title: "both endpoints behind hosts joined by WireGuard, in userspace: the current Go library", Baseline: "host", MTU: true, Headers: driver.WireGuardHeaders},
	}
}
