package clock

import (
	"testing"
	"time"
)

func TestNanoseconds(t *testing.T) {
	for _, c := range []struct {
		ticks, frequency uint64
		want             int64
	}{
		{0, 10_000_000, 0},
		{1, 10_000_000, 100},
		{10_000_001, 10_000_000, 1_000_000_100},
		{1, 3, 333_333_333},
		// A year of a counter of 3 GHz: the product exceeds 64 bits.
		{3_000_000_000 * 86_400 * 365, 3_000_000_000, int64(365 * 24 * time.Hour)},
	} {
		if got := nanoseconds(c.ticks, c.frequency); got != c.want {
			t.Errorf("%d ticks at %d Hz: %d ns, want %d", c.ticks, c.frequency, got, c.want)
		}
	}
}
