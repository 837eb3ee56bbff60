package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/thread"
)

// portablePinned is how many flows the portable implementation can pin: each needs a thread.
const portablePinned = 1000

// EachFlow runs fn for each flow, on pinned threads if a CPU is given.
func EachFlow(p traffic.Params, fn func(i int) error) error {
	threads := p.CPU >= 0 || p.RealTime()
	switch {
	case threads && p.Streams > portablePinned:
		return fmt.Errorf("%s: %d flows on threads of their own: the portable implementation has at most %d; use placement free without scheduling", p.Kind, p.Streams, portablePinned)
	case threads:
		return p.Threading().Run(p.Streams, fn)
	}
	return thread.RunGoroutines(p.Streams, fn)
}

// FirstOf returns the error that ended the others, if err is one of several.
func FirstOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// Pause sleeps with the precision of the system's timers.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ErrClientEnded is why a server ends that its client does not tell: the client has reported.
var ErrClientEnded = errors.New("the client has ended")

// UntilReported returns a context that ends with ErrClientEnded when peer has the client's report, or with end.
func UntilReported(ctx context.Context, peer traffic.Peer) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-peer:
			cancel(ErrClientEnded)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
