//go:build !linux

package exchange

import (
	"context"
	"time"

	"tare/internal/traffic"
)

// PrepareDue does nothing: the timers of this system need no preparation.
func PrepareDue(traffic.Params) {}

// PauseUntilDue is Pause.
func PauseUntilDue(ctx context.Context, d time.Duration) error { return Pause(ctx, d) }
