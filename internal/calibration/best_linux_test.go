package calibration

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// The best of all repetitions counts, for one operation. They end when the CPU time is spent, and on a
// busy machine when the time is.
func TestBest(t *testing.T) {
	times := []time.Duration{500, 300, 400}
	var now time.Duration
	calls := 0
	tick := one{n: 100, work: func() error {
		now += times[calls%len(times)] * time.Microsecond
		calls++
		return nil
	}, clock: func() time.Duration { return now }}
	got, err := best(tick, time.Minute/maxBudgets/100)
	must.True(t, err == nil && math.Abs(got-3e-6) <= 1e-12 && calls >= minRepetitions, "%g s after %d calls, %v", got, calls, err)

	failing := tick
	failing.work = func() error { return errors.New("broken") }
	if _, err := best(failing, time.Hour); err == nil || err.Error() != "broken" {
		t.Errorf("of an operation that fails: %v", err)
	}
	standing := tick
	standing.clock = func() time.Duration { return 7 }
	must.FailFor(t, "a clock that stands has a value", must.Err(best(standing, time.Millisecond)))
}

// Repetitions that wait for the CPU do not go on until there are enough of them.
func TestBestOnBusyMachine(t *testing.T) {
	calls := 0
	_, err := best(one{n: 1, work: func() error {
		calls++
		for start := time.Now(); time.Since(start) <= maxBudgets*time.Nanosecond; {
		}
		return nil
	}, clock: threadTime}, time.Nanosecond)
	must.True(t, err != nil && strings.HasPrefix(err.Error(), "other programs took the CPU: 1 of 20 repetitions in ") && calls == 1, "%d calls, %v", calls, err)
}

// The clock of another thread counts its CPU time, and a clock that does not exist none.
func TestThreadTimes(t *testing.T) {
	if got := threadTime(); got <= 0 {
		t.Errorf("the thread's own CPU time is %v", got)
	}
	if got := threadTimeOf(int32(os.Getpid())); got <= 0 {
		t.Errorf("the first thread's CPU time is %v", got)
	}
	if got := threadTimeOf(1 << 22); got != 0 { // above the highest number of a thread
		t.Errorf("the CPU time of no thread is %v", got)
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{
		81.04: "81.0", 2040.4: "2040", 0.0123: "0.0123", 1: "1.00", 9.999: "10.0", 99.96: "100", 0.9999: "1.00", 999.6: "1000", 123456: "123456",
	} {
		if got := digits(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
	must.Equal(t, "52.4 GB/s", rate(256<<10)(5e-6))
	must.Equal(t, "2040 ns", nanoseconds(2.04e-6))
}
