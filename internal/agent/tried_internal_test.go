package agent

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/testkit/must"
)

// The error of a probe is what the last whole attempt met, not that the time was over in the midst of the next.
func TestTried(t *testing.T) {
	cut := func(ctx context.Context) error { <-ctx.Done(); return os.ErrDeadlineExceeded }
	refused := func(context.Context) error { return syscall.ECONNREFUSED }
	silent := func(context.Context) error { time.Sleep(time.Second); return os.ErrDeadlineExceeded }
	for name, tt := range map[string]struct {
		attempts []func(context.Context) error // the last one is repeated
		want     error
	}{
		"refused to the end":                {[]func(context.Context) error{refused}, syscall.ECONNREFUSED},
		"refused, and cut in the next":      {[]func(context.Context) error{refused, cut}, syscall.ECONNREFUSED},
		"refused, then silent":              {[]func(context.Context) error{refused, silent}, os.ErrDeadlineExceeded},
		"silent for all of the time":        {[]func(context.Context) error{cut}, os.ErrDeadlineExceeded},
		"silent, then refused, then cut":    {[]func(context.Context) error{silent, refused, cut}, syscall.ECONNREFUSED},
		"refused, and answered at the last": {[]func(context.Context) error{refused, refused, func(context.Context) error { return nil }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				n := 0
				err := tried(ctx, func() error {
					attempt := tt.attempts[min(n, len(tt.attempts)-1)]
					n++
					return attempt(ctx)
				})
				must.EqualFor(t, "error", true, errors.Is(err, tt.want))
			})
		})
	}
}
