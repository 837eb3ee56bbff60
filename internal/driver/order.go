package driver

import (
	"context"
	"fmt"

	"tare/internal/lab"
	"tare/internal/study"
)

// MaxPairs is how many pairs a path can have: so many have addresses of their own
// in every subnet of a lab.
const MaxPairs = 100

// Countable refuses an order of fewer pairs than 1 or more than MaxPairs.
func (o Order) Countable() error {
	if o.Pairs < 1 || o.Pairs > MaxPairs {
		return fmt.Errorf("provision %s: %d pairs of ends asked for; from 1 to %d can be had", o.Mode, o.Pairs, MaxPairs)
	}
	return nil
}

// Unlimited refuses an order with limits: of a mode whose sandboxes no engine makes.
func (o Order) Unlimited() error {
	if o.Limits != (study.Limits{}) {
		return &Unsupported{Mode: o.Mode, Reason: "limits are applied by an engine, and this mode has none"}
	}
	return nil
}

// Try builds what is ordered once, with one pair and on a lab of its own, and takes it
// down again. Of the order's lab only Pin is kept. The error is provision's, or that of
// taking it down.
func Try(ctx context.Context, o Order, provision func(context.Context, Order) (Path, error)) error {
	claim, err := lab.NewClaim()
	if err != nil {
		return err
	}
	defer claim.Release()
	o.Lab = lab.Spec{Claim: claim, Label: o.Mode, MTU: lab.DefaultMTU, Offload: true, Pin: o.Lab.Pin}
	o.Pairs = 1
	p, err := provision(ctx, o)
	if err != nil {
		return err
	}
	return p.Close(ctx)
}
