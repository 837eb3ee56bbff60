package remote

import (
	"context"

	"tare/internal/driver"
	"tare/internal/runid"
)

// ProbeByProvision builds a mode once, with one pair and a run of its own, and removes it again, so
// that the machines themselves answer. It returns the error of provision or of the removal.
func ProbeByProvision(ctx context.Context, o driver.Order, provision func(context.Context, driver.Order) (*driver.Path, error)) error {
	run, err := runid.New()
	if err != nil {
		return err
	}
	defer run.Release()
	o.Run, o.Label, o.Pairs = run.ID, o.Mode, 1
	p, err := provision(ctx, o)
	if err != nil {
		return err
	}
	return p.Close(ctx)
}
