package containers

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"tare/internal/driver/remote"
)

// Ends that do not hear of each other join again until they do, and no longer than
// there is time; what else goes wrong ends it at once.
func TestAcquaint(t *testing.T) {
	deaf, broken := &remote.Unreachable{Err: errors.New("no answer")}, errors.New("broken")
	for _, tt := range []struct {
		name   string
		within time.Duration
		limit  time.Duration // of the mode, 0 for none
		meets  []error       // one after the other, the last for ever
		again  error
		waits  []time.Duration
		times  int
		want   error
	}{
		{name: "at once", within: GossipTimeout, meets: []error{nil}, waits: []time.Duration{firstHeard}},
		{name: "after two", within: GossipTimeout, meets: []error{deaf, deaf, nil}, times: 2,
			waits: []time.Duration{firstHeard, 2 * firstHeard, 4 * firstHeard}},
		{name: "never", within: 17 * time.Second, meets: []error{deaf}, times: 3, want: deaf,
			waits: []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 3 * time.Second}},
		{name: "longer than an exchange of gossip", within: GossipTimeout, meets: []error{deaf}, times: 7, want: deaf,
			waits: []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, longestHeard, longestHeard, longestHeard, 24 * time.Second}},
		{name: "as long as the mode may take", within: GossipTimeout, limit: behindGossip + firstHeard - time.Second, meets: []error{deaf}, want: deaf,
			waits: []time.Duration{firstHeard}},
		{name: "hopeless", within: time.Second, meets: []error{deaf}, want: deaf, waits: []time.Duration{time.Second}},
		{name: "another fault", within: GossipTimeout, meets: []error{deaf, broken}, times: 1, want: broken,
			waits: []time.Duration{firstHeard, 2 * firstHeard}},
		{name: "cannot join again", within: GossipTimeout, meets: []error{deaf}, again: broken, want: broken, waits: []time.Duration{firstHeard}},
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
			if !errors.Is(err, tt.want) || times != tt.times || !slices.Equal(waits, tt.waits) {
				t.Errorf("%d times again, after waits of %v: %v; want %d, %v, %v", times, waits, err, tt.times, tt.waits, tt.want)
			}
		})
	}
}
