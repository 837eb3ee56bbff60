package exchange

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"tare/internal/testkit/must"
)

// A cancelled endpoint tells why, also if the peer's end came first; one that goes on tells only what it met.
func TestWithCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	met := fmt.Errorf("connect: %w", syscall.ECONNREFUSED)
	err := WithCause(ctx, met)
	must.True(t, err == met, "%v", err) //nolint:errorlint // the very error
	cancel(errors.New("enough"))
	for _, err := range []error{met, ErrCancelled} {
		must.FailFor(t, err, WithCause(ctx, err), "enough")
	}
	must.Do(t, WithCause(ctx, nil))
}
