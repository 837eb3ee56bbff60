package clock

import (
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// The clock advances in steps that are far shorter than a round trip, keeps the time, and is read
// without allocating.
func TestClock(t *testing.T) {
	shortest := time.Hour
	for range 1000 {
		began := Now()
		step := time.Duration(0)
		for step == 0 {
			step = began.Since()
		}
		shortest = min(shortest, step)
	}
	must.True(t, shortest > 0 && shortest <= 20*time.Microsecond, "the clock advances in steps of %s", shortest)
	// The runtime's clock may advance in ticks.
	const tick = 20 * time.Millisecond
	outer := time.Now()
	began := Now()
	inner := time.Now()
	time.Sleep(50 * time.Millisecond)
	least := time.Since(inner)
	at := began.Since()
	if most := time.Since(outer); at < least-tick || at > most+tick {
		t.Errorf("%s passed, by the runtime's clock between %s and %s", at, least, most)
	}
	if at := Now().Add(-time.Hour).Since(); at < time.Hour || at > time.Hour+time.Minute {
		t.Errorf("an hour ago is %s ago", at)
	}
	if n := testing.AllocsPerRun(100, func() { _ = Now().Since() }); n > 0 {
		t.Errorf("reading the clock allocates %g times", n)
	}
}
