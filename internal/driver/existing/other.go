//go:build !linux

package existing

import (
	"context"

	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// Probe says that runs need Linux on the machine that leads them.
func (d *Driver) Probe(_ context.Context, o driver.ModeSpec) error {
	return &driver.Unsupported{Mode: o.Mode, Reason: linuxnet.ErrSystem.Error()}
}

// Provision answers what Probe does.
func (d *Driver) Provision(ctx context.Context, o driver.ModeSpec) (*driver.Path, error) {
	return nil, d.Probe(ctx, o)
}
