package traffic

import (
	"context"
	"time"
)

// clocked is the client of a workload that owns the clock: it is driven for a
// warm-up and a timed part, once or piece by piece.
type clocked interface {
	// drive drives the traffic for warmup + long and counts the latter.
	drive(ctx context.Context, warmup, long time.Duration) error
	// Close ends the trial and reports on all that was driven.
	Close() Report
}

// driveWhole runs a trial in one piece.
func driveWhole(ctx context.Context, c clocked, p Params) (Report, error) {
	err := c.drive(ctx, p.Warmup, p.Duration)
	return c.Close(), err
}

// driveInSlices warms a trial up that then goes on in slices.
func driveInSlices(ctx context.Context, c clocked, p Params) (Session, error) {
	if err := c.drive(ctx, p.Warmup, 0); err != nil {
		c.Close()
		return nil, err
	}
	return clockedSession{c}, nil
}

type clockedSession struct{ clocked }

func (s clockedSession) Slice(ctx context.Context, d time.Duration) error {
	warmup := d / SliceWarmup
	return s.drive(ctx, warmup, d-warmup)
}
