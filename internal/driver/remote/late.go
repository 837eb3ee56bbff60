package remote

import (
	"time"

	"tare/internal/agent/wire"
	"tare/internal/driver"
)

// countersLate returns how late the counters of a device may be: those of virtual devices
// are the kernel's own, unless a card below them counts.
func countersLate(l wire.Link) time.Duration {
	if l.Loopback || l.Kind == "veth" {
		return 0
	}
	return driver.CardCountersLate
}
