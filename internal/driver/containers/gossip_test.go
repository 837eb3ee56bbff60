package containers

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"tare/internal/driver/remote"
	"tare/internal/testkit/must"
)

// Endpoints that do not hear of each other join again until they do or the time is over;
// any other error ends this at once.
func TestAcquaint(t *testing.T) {
	deaf, broken := &remote.Unreachable{Err: errors.New("no answer")}, errors.New("broken")
	for _, tt := range []struct {
		name   string
		within time.Duration
		limit  time.Duration // of the mode, 0 for none
		meets  []error       // results in order; the last one repeats
		again  error
		waits  []time.Duration
		times  int
		want   error
	}{
		{name: "at once", within: GossipTimeout, meets: []error{nil}, waits: []time.Duration{firstGossipWait}},
		{name: "after two", within: GossipTimeout, meets: []error{deaf, deaf, nil}, times: 2,
			waits: []time.Duration{firstGossipWait, 2 * firstGossipWait, 4 * firstGossipWait}},
		{name: "never", within: 17 * time.Second, meets: []error{deaf}, times: 3, want: deaf,
			waits: []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 3 * time.Second}},
		{name: "longer than an exchange of gossip", within: GossipTimeout, meets: []error{deaf}, times: 7, want: deaf,
			waits: []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, maxGossipWait, maxGossipWait, maxGossipWait, 24 * time.Second}},
		{name: "as long as the mode may take", within: GossipTimeout, limit: behindGossip + firstGossipWait - time.Second, meets: []error{deaf}, want: deaf,
			waits: []time.Duration{firstGossipWait}},
		{name: "hopeless", within: time.Second, meets: []error{deaf}, want: deaf, waits: []time.Duration{time.Second}},
		{name: "another fault", within: GossipTimeout, meets: []error{deaf, broken}, times: 1, want: broken,
			waits: []time.Duration{firstGossipWait, 2 * firstGossipWait}},
		{name: "cannot join again", within: GossipTimeout, meets: []error{deaf}, again: broken, want: broken, waits: []time.Duration{firstGossipWait}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var waits []time.Duration
			meet := func(_ context.Context, wait time.Duration) error {
				waits = append(waits, wait)
				return tt.meets[min(len(waits), len(tt.meets))-1]
			}
			ctx := t.Context()
			if tt.limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.limit)
				defer cancel()
			}
			times, err := AwaitGossip(ctx, tt.within, meet, func(context.Context) error { return tt.again })
			must.True(t, errors.Is(err, tt.want) && times == tt.times && slices.Equal(waits, tt.waits),
				"%d times again, after waits of %v: %v; want %d, %v, %v", times, waits, err, tt.times, tt.waits, tt.want)
		})
	}
}
