package ovs

import (
	"context"
	"errors"

	"tare/internal/driver"
)

// Untunnel removes the tunnels from a path's switches and adds the underlay as a port next
// to the sandboxes' ports.
func Untunnel(p *driver.Path) error {
	var errs []error
	for _, s := range p.Internal.(*path).sides {
		errs = append(errs, s.set(context.Background(), "del-port", inside, tunnel, "--", "del-port", physical, eth, "--", "add-port", inside, eth))
	}
	return errors.Join(errs...)
}
