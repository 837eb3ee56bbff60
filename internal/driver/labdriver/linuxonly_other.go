//go:build !linux

package labdriver

import (
	"context"

	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// LinuxOnly is embedded in a driver, for which it says on other systems that none of its modes can be
// built there.
type LinuxOnly struct{}

// Probe says that no mode can be built here.
func (LinuxOnly) Probe(_ context.Context, o ModeSpec) error {
	return &driver.Unsupported{Mode: o.Mode, Reason: linuxnet.ErrSystem.Error()}
}

// Provision answers what Probe does.
func (d LinuxOnly) Provision(ctx context.Context, o ModeSpec) (*driver.Path, error) {
	return nil, d.Probe(ctx, o)
}
