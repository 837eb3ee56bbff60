package result

import (
	"testing"

	"tare/internal/testkit/must"
)

// Counts of connections are possible if no more failed than were tried, and no more were late; one may be both.
func TestAttemptsValid(t *testing.T) {
	for _, c := range []struct {
		counts Attempts
		want   bool
	}{
		{Attempts{}, true},
		{Attempts{Tried: 1, Reset: 1, Late: 1}, true}, // late, and reset in the middle of the trial
		{Attempts{Tried: 3, TimedOut: 1, Refused: 1, Reset: 1}, true},
		{Attempts{Tried: 2, TimedOut: 1, Refused: 1, Reset: 1}, false},
		{Attempts{Tried: 1, Late: 2}, false},
		{Attempts{Tried: 1, Reset: -1}, false},
		{Attempts{Tried: -1}, false},
		{Attempts{Tried: mostTried + 1}, false},
	} {
		must.EqualFor(t, c.counts, c.want, c.counts.Valid())
	}
}
