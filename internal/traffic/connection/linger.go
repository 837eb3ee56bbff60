package connection

import (
	"context"
	"time"

	"tare/internal/timelimit"
)

// Linger lets a loop read for a moment what its peer has sent before the context ended. A peer that goes on sending, a byte now and
// then, would otherwise keep the loop for as long as it likes. The zero value is ready.
type Linger struct{ until time.Time }

// lingerTime is how long what a peer has sent is still read.
func lingerTime() time.Duration { return timelimit.Scaled(time.Second) }

// Over reports whether the moment after the end of the context is over.
func (l *Linger) Over(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	if l.until.IsZero() {
		l.until = time.Now().Add(lingerTime())
	}
	return time.Now().After(l.until)
}
