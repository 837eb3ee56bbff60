package thread

import (
	"testing"
	"time"
)

// The margin follows the median of how late wake-ups are, within its bounds, and a long pause moves it by
// one step.
func TestWakeMargin(t *testing.T) {
	var m WakeMargin
	for _, late := range []time.Duration{20 * time.Microsecond, 0, 33 * time.Microsecond, time.Second, -time.Millisecond} {
		for range 1000 {
			m.Woken(late)
		}
		want := min(max(late, minMargin), maxMargin)
		before := m.Before(time.Second)
		if off := before - want; off < -wakeStep || off > wakeStep {
			t.Errorf("after wake-ups that were %s late the margin is %s", late, before)
		}
		if short := m.Before(30 * time.Microsecond); short > 10*time.Microsecond {
			t.Errorf("after wake-ups that were %s late the margin of a wait of 30 us is %s", late, short)
		}
		m.Woken(time.Hour)
		if after := m.Before(time.Second); after > before+wakeStep {
			t.Errorf("a pause moved the margin from %s to %s", before, after)
		}
	}
}
