package ovs

import (
	"context"
	"errors"

	"tare/internal/driver"
)

// Untunnel takes the tunnels out of a path's switches and puts the underlay among the
// sandboxes' ports.
func Untunnel(p *driver.Path) error {
	var errs []error
	for _, s := range p.Internal.(*path).sides {
		errs = append(errs, s.set(context.Background(), "del-port", inside, tunnel, "--", "del-port", physical, eth, "--", "add-port", inside, eth))
	}
	return errors.Join(errs...)
}
