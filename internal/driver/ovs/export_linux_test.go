package ovs

import (
	"context"
	"errors"

	"tare/internal/driver"
	"tare/internal/driver/vswitch"
)

// Untunnel removes the tunnels from a path's switches and adds the underlay as a port next
// to the sandboxes' ports.
func Untunnel(p *driver.Path) error {
	var errs []error
	for _, s := range p.Internal.(*path).sides {
		errs = append(errs, s.Set(context.Background(), "del-port", vswitch.Inside, tunnel, "--", "del-port", physical, eth, "--", "add-port", vswitch.Inside, eth))
	}
	return errors.Join(errs...)
}

// Deny adds an access rule to the server's logical switch that denies all that the others only do not match.
func Deny(p *driver.Path) error {
	of := p.Internal.(*path)
	return errors.Join(of.central.Set(context.Background(), "acl-add", of.sides[1].At, "to-lport", "2000", "ip", "drop"), of.central.Applied(context.Background()))
}
