package remote

import (
	"time"

	"tare/internal/agent/wire"
)

// cardCountersLate is how late the counters of a network card may be: some drivers copy them
// from hardware once a second (bnxt, tg3, mlx4), and two such periods may be needed.
const cardCountersLate = 2500 * time.Millisecond

// countersLate returns how late the counters of a device may be: those of virtual devices
// are the kernel's own, unless a card below them counts.
func countersLate(l wire.Link) time.Duration {
	if l.Loopback || l.Kind == "veth" {
		return 0
	}
	return cardCountersLate
}
