// Package wireguard builds modes in which WireGuard carries the sandboxes' subnets
// between two hosts: by the kernel, by the Go library inside of this program, or by an
// installed wireguard-go.
package wireguard

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// Command is the hidden subcommand under which this program is a WireGuard tunnel's end
// by itself.
const Command = "wireguard"

// The modes.
const (
	kernel    = "wireguard/kernel"
	userspace = "wireguard/userspace"
	goBinary  = "wireguard/go-binary"
)

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	return []driver.Mode{
		{ID: kernel, Title: "both ends behind hosts joined by WireGuard, in the kernel", Baseline: "host", MTU: true},
		{ID: userspace, Title: "both ends behind hosts joined by WireGuard, in a process: the current Go library", Baseline: "host", MTU: true},
		{ID: goBinary, Title: "both ends behind hosts joined by WireGuard, in a process: the installed wireguard-go", Baseline: "host", MTU: true},
	}
}
