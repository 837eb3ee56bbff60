package socket

import (
	"context"
	"time"

	"tare/internal/timelimit"
)

// Rest lets a loop read for a moment what its peer has sent before the context ended. A peer that goes on sending, a byte now and
// then, would otherwise keep the loop for as long as it likes. The zero value is ready.
type Rest struct{ until time.Time }

// restTime is how long what a peer has sent is still read.
func restTime() time.Duration { return timelimit.Scaled(time.Second) }

// Over reports whether the moment after the end of the context is over.
func (r *Rest) Over(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	if r.until.IsZero() {
		r.until = time.Now().Add(restTime())
	}
	return time.Now().After(r.until)
}
