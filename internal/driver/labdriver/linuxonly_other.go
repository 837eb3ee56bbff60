//go:build !linux

package labdriver

import (
	"context"

	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// LinuxOnly is embedded in a driver. On other systems it reports all of its modes as
// unsupported.
type LinuxOnly struct{}

// Probe says that no mode can be built here.
func (LinuxOnly) Probe(_ context.Context, o Order) error {
	return &driver.Unsupported{Mode: o.Mode, Reason: linuxnet.ErrSystem.Error()}
}

// Provision answers what Probe does.
func (d LinuxOnly) Provision(ctx context.Context, o Order) (*driver.Path, error) {
	return nil, d.Probe(ctx, o)
}
