//go:build !linux

package netns

import (
	"context"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// Probe says that no mode of this package can be built here.
func (Driver) Probe(_ context.Context, id string) error {
	return &driver.Unsupported{Mode: id, Reason: linuxnet.ErrSystem.Error()}
}

// Provision answers what Probe does.
func (d Driver) Provision(ctx context.Context, id string, _ *lab.Lab, _ int) (driver.Path, error) {
	return nil, d.Probe(ctx, id)
}
