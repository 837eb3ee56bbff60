// Package ipsec builds modes in which IPsec carries the sandboxes' subnets between two
// hosts: strongSwan's charon on each agrees on keys (IKEv2), and ESP in UDP is done by
// the kernel or by charon itself.
package ipsec

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// The modes.
const (
	kernel    = "ipsec/kernel"
	userspace = "ipsec/userspace"
)

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	return []driver.Mode{
		{ID: kernel, Title: "both ends behind hosts joined by an IPsec tunnel, ESP in the kernel", Baseline: "host", MTU: true},
		{ID: userspace, Title: "both ends behind hosts joined by an IPsec tunnel, ESP in a process: strongSwan's libipsec", Baseline: "host", MTU: true},
	}
}
