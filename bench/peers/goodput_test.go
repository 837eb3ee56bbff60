package peers

import (
	"context"
	"errors"
	"testing"

	"tare/internal/testkit/must"
)

// A generator that loses all beyond what the path carries is driven to just
// below that.
func TestSearch(t *testing.T) {
	path := func(carries, sends float64) func(context.Context, float64) (carried, error) {
		return func(_ context.Context, rate float64) (carried, error) {
			if rate == 0 {
				rate = sends
			}
			return carried{sent: rate / 8, received: min(rate, carries) / 8, seconds: 1}, nil
		}
	}
	must.EqualFor(t, "nothing lost", float64(0), must.Get(search(t.Context(), path(2e9, 1e9)))(t))
	got, err := search(t.Context(), path(1e9, 3e9))
	// Of 3e9, eight halvings leave 3e9/256 open; 1 % of loss is allowed.
	if low, high := searchShare*(1e9-3e9/256), searchShare*1e9/(1-lossAllowed); err != nil || got < low || got > high {
		t.Errorf("a third carried: %g, %v, want %g to %g", got, err, low, high)
	}
	// What is lost once is tried again.
	calls := 0
	got, err = search(t.Context(), func(ctx context.Context, rate float64) (carried, error) {
		if calls++; calls == 1 {
			return path(1, 1e9)(ctx, rate)
		}
		return path(2e9, 1e9)(ctx, rate)
	})
	if err != nil || got != 0 || calls != 2 {
		t.Errorf("lost once: %g after %d calls, %v, want 0 after 2", got, calls, err)
	}
	if _, err := search(t.Context(), path(0, 1e9)); err == nil {
		t.Error("a path that carries nothing: no error")
	}
	broken := errors.New("broken")
	if _, err := search(t.Context(), func(context.Context, float64) (carried, error) { return carried{}, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}
