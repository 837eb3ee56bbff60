//go:build !linux

package tcp

import (
	"context"
	"time"

	"tare/internal/traffic"
)

func prepareDue(traffic.Params) {}

func pauseUntilDue(ctx context.Context, d time.Duration) error { return pause(ctx, d) }
