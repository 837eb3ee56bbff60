//go:build linux

package vm

import (
	"tare/internal/driver"
	"tare/internal/guest"
	"tare/internal/linuxnet"
)

// Machines gives tests the guests of a path.
func Machines(p *driver.Path) []*guest.Machine { return p.Internal.(*path).machines }

// HostA gives tests the namespace of a path's host a.
func HostA(p *driver.Path) *linuxnet.NS { return p.Internal.(*path).lab.A.NS }
