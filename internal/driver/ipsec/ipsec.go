// Package ipsec builds modes in which IPsec carries the sandboxes' subnets between two
// hosts: strongSwan's charon on each host negotiates keys (IKEv2), and ESP in UDP is
// processed by the kernel or by charon itself.
package ipsec

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// libipsecMTU is the maximum packet that charon's own ESP reads: it truncates longer ones.
const libipsecMTU = 1400

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// implementation is what processes ESP: the kernel, or charon.
type implementation struct{ kernel bool }

// rows are the modes of this package.
func rows() labdriver.Rows[implementation] {
	return labdriver.Rows[implementation]{
		{Mode: driver.Mode{ID: "ipsec/kernel", Title: "both endpoints behind hosts joined by an IPsec tunnel, ESP in the kernel", Baseline: "host",
			MTU: true, Headers: driver.ESPHeaders, Detour: "/esp."}, Build: implementation{kernel: true}},
		{Mode: driver.Mode{ID: "ipsec/userspace", Title: "both endpoints behind hosts joined by an IPsec tunnel, ESP in userspace: strongSwan's libipsec", Baseline: "host",
			MTU: true, Headers: driver.ESPHeaders, MaxMTU: libipsecMTU, Detour: "/esp."}},
	}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }
