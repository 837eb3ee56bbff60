package tcp

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
	if err := withCause(ctx, met); err != met { //nolint:errorlint // the very error
		t.Errorf("%v", err)
	}
	cancel(errors.New("enough"))
	for _, err := range []error{met, errCancelled} {
		must.FailFor(t, err, withCause(ctx, err), "enough")
	}
	must.Do(t, withCause(ctx, nil))
}
