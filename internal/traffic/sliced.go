package traffic

import (
	"context"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
)

// Sliced is a workload whose client can run in slices interleaved with other modes, so that all
// modes see the same variation of the machine's speed.
type Sliced interface {
	Workload
	// Open connects and warms up. The first slice follows.
	Open(ctx context.Context, p Params) (Session, error)
}

// Session is the client's part of a trial that is run in slices. Its methods must not be called
// concurrently.
type Session interface {
	// Slice runs the traffic for d. It does not count the first d/SliceWarmup, during which caches
	// still hold data of another mode.
	Slice(ctx context.Context, d time.Duration) error
	// Close ends the trial and reports on all slices together.
	Close() Report
}

// Holding is a session that knows something of its path: what it still holds, or its round trip.
type Holding interface {
	// Held is what is known of the path at the end of the last slice or of the warm-up, nil if nothing is.
	Held() *Held
}

// SliceWarmup is the uncounted part of a slice, as 1/SliceWarmup.
const SliceWarmup = 5

// The default lengths of slices.
const (
	// StreamSlice has a counted part of one SeriesInterval.
	StreamSlice = quantity.Duration(SeriesInterval * SliceWarmup / (SliceWarmup - 1))
	// ExchangeSlice is short compared with the seconds over which the speed of a virtual machine varies.
	// Its uncounted part is about as long as the 4.5 ms for which a CPU that was idle may be slower by
	// a third (bench/README.md).
	ExchangeSlice = quantity.Duration(20 * time.Millisecond)
)

// ExchangeLengths are the lengths of trials whose unit is an exchange, by profile.
func ExchangeLengths() map[string]study.Length {
	return map[string]study.Length{
		study.Quick:    {Warmup: quantity.Duration(50 * time.Millisecond), Duration: quantity.Duration(240 * time.Millisecond), Slice: ExchangeSlice},
		study.Standard: {Warmup: quantity.Duration(200 * time.Millisecond), Duration: quantity.Duration(800 * time.Millisecond), Slice: ExchangeSlice},
		study.Paper:    {Warmup: quantity.Duration(time.Second), Duration: quantity.Duration(30 * time.Second)},
	}
}

// WarmupTransfer returns the parameters of the transfer that starts a sliced trial and warms up the
// path.
func (p Params) WarmupTransfer() Params {
	p.Duration = p.Warmup
	p.Warmup = 0
	return p
}

// SliceTransfer returns the parameters of the transfer of one slice of length d.
func (p Params) SliceTransfer(d time.Duration) Params {
	p.Warmup = d / SliceWarmup
	p.Duration = d - p.Warmup
	return p
}

// ClientDriven is the client of a workload whose timing the client controls. It runs a warm-up and
// a timed part, in one piece or in slices.
type ClientDriven interface {
	// Drive runs the traffic for warmup + timed and counts the second part.
	Drive(ctx context.Context, warmup, timed time.Duration) error
	// RTT is the least round trip so far, 0 if it is unknown.
	RTT() time.Duration
	// Close ends the trial and reports on all of it.
	Close() Report
}

// DriveWhole runs a trial in one piece on the connections that dial opens.
func DriveWhole(ctx context.Context, p Params, dial func(context.Context, Params) (ClientDriven, error)) (Report, error) {
	c, err := dial(ctx, p)
	if err != nil {
		return Report{}, err
	}
	err = c.Drive(ctx, p.Warmup, p.Duration)
	return c.Close(), err
}

// DriveInSlices connects and warms up a trial that then runs in slices. Without Params.Rounds no other mode has its turn, and all of a
// slice is counted.
func DriveInSlices(ctx context.Context, p Params, dial func(context.Context, Params) (ClientDriven, error)) (Session, error) {
	c, err := dial(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := c.Drive(ctx, p.Warmup, 0); err != nil {
		c.Close()
		return nil, err
	}
	return clientSession{c, p.Rounds == 0}, nil
}

// clientSession is the client of a trial in slices, or of one in one piece behind its warm-up, of which all is counted.
type clientSession struct {
	ClientDriven
	whole bool
}

// Held has the round trip only: a path holds nothing between exchanges.
func (s clientSession) Held() *Held { return &Held{RTT: s.RTT()} }

func (s clientSession) Slice(ctx context.Context, d time.Duration) error {
	warmup := d / SliceWarmup
	if s.whole {
		warmup = 0
	}
	return s.Drive(ctx, warmup, d-warmup)
}
