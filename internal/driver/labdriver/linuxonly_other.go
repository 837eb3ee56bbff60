//go:build !linux

package netns

import (
	"context"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/linuxnet"
)

// Probe says that no mode of this package can be built here.
func (Driver) Probe(_ context.Context, o labdriver.Order) error {
	return &driver.Unsupported{Mode: o.Mode, Reason: linuxnet.ErrSystem.Error()}
}

// Provision answers what Probe does.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	return nil, d.Probe(ctx, o)
}
