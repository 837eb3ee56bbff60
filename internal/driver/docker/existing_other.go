//go:build !linux

package docker

import (
	"context"

	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// visit is what all paths of one run share; there are none here.
type visit struct{}

// Probe says that runs need Linux on the machine that leads them.
func (g *Guest) Probe(_ context.Context, o driver.Order) error {
	return &driver.Unsupported{Mode: o.Mode, Reason: linuxnet.ErrSystem.Error()}
}

// Provision answers what Probe does.
func (g *Guest) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	return nil, g.Probe(ctx, o)
}
