//go:build !linux

package existing

import (
	"context"

	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// Probe returns an Unsupported error: the machine that controls a run must run Linux.
func (d *Driver) Probe(_ context.Context, o driver.ModeSpec) error {
	return &driver.Unsupported{Mode: o.Mode, Reason: linuxnet.ErrSystem.Error()}
}

// Provision returns the same error as Probe.
func (d *Driver) Provision(ctx context.Context, o driver.ModeSpec) (*driver.Path, error) {
	return nil, d.Probe(ctx, o)
}
