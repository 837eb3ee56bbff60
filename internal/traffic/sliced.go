package traffic

import (
	"context"
	"time"

	"tare/internal/study"
)

// Sliced is a workload whose client can be driven in turns with others, so that
// a machine whose speed wavers treats them all alike.
type Sliced interface {
	Workload
	// Open connects and warms up. The first slice comes behind it.
	Open(ctx context.Context, p Params) (Session, error)
}

// Session is the client's part of a trial that is driven in slices. Its methods
// are called one after the other.
type Session interface {
	// Slice drives the traffic for d. What falls into the first d/SliceWarmup is
	// not counted: caches hold what another mode left there.
	Slice(ctx context.Context, d time.Duration) error
	// Close ends the trial and reports on all slices together.
	Close() Report
}

// SliceWarmup is the part of a slice, as 1/SliceWarmup, that is not counted.
const SliceWarmup = 5

// The slices that workloads have by default.
const (
	// StreamSlice has a counted part of one SeriesInterval.
	StreamSlice = study.Duration(SeriesInterval * SliceWarmup / (SliceWarmup - 1))
	// ExchangeSlice is long beside what an exchange takes, and short beside the seconds
	// within which the speed of a virtual machine wavers.
	ExchangeSlice = study.Duration(10 * time.Millisecond)
)

// WarmupTransfer is the transfer that a sliced trial begins with, to warm up the path.
func (p Params) WarmupTransfer() Params {
	p.Duration = p.Warmup
	p.Warmup = 0
	return p
}

// SliceTransfer is the transfer of one slice of length d.
func (p Params) SliceTransfer(d time.Duration) Params {
	p.Warmup = d / SliceWarmup
	p.Duration = d - p.Warmup
	return p
}

// ClientDriven is the client of a workload that owns the clock: it is driven for a
// warm-up and a timed part, once or piece by piece.
type ClientDriven interface {
	// Drive drives the traffic for warmup + long and counts the latter.
	Drive(ctx context.Context, warmup, long time.Duration) error
	// Close ends the trial and reports on all that was driven.
	Close() Report
}

// DriveWhole runs a trial in one piece, on what dial connects.
func DriveWhole(ctx context.Context, p Params, dial func(context.Context, Params) (ClientDriven, error)) (Report, error) {
	c, err := dial(ctx, p)
	if err != nil {
		return Report{}, err
	}
	err = c.Drive(ctx, p.Warmup, p.Duration)
	return c.Close(), err
}

// DriveInSlices warms a trial up that then goes on in slices.
func DriveInSlices(ctx context.Context, p Params, dial func(context.Context, Params) (ClientDriven, error)) (Session, error) {
	c, err := dial(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := c.Drive(ctx, p.Warmup, 0); err != nil {
		c.Close()
		return nil, err
	}
	return clientSession{c}, nil
}

type clientSession struct{ ClientDriven }

func (s clientSession) Slice(ctx context.Context, d time.Duration) error {
	warmup := d / SliceWarmup
	return s.Drive(ctx, warmup, d-warmup)
}
