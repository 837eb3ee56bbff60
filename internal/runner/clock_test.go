//go:build linux

package runner_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/driver/netns"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// A wall clock that is set between trials changes nothing of them, and no duration and no order of times. A trial during
// which it is set is excluded and repeated. The clock is the whole machine's, so that the test runs in a guest only: see
// package guest/inside.
func TestGuestClock(t *testing.T) {
	needGuest(t, "the clock")
	steps := 0
	step := func() {
		by := []int64{-30 * 24 * 3600, 365 * 24 * 3600, -3600, 2}[steps%4]
		steps++
		var now unix.Timespec
		must.Equal(t, nil, unix.ClockGettime(unix.CLOCK_REALTIME, &now))
		now.Sec += by
		must.Equal(t, nil, unix.ClockSettime(unix.CLOCK_REALTIME, &now))
	}
	started, within := 0, 0 // the trial during which the clock is set is the second, or the first after it that tells its progress
	began := time.Now()     // its difference to a later time is by the monotonic clock
	run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host"}, func(s *study.Study) { s.Blocks = 4 }, func(e live.Event) {
		switch e.(type) {
		case live.TrialStarted:
			started++
		case live.Progress:
			if started >= 2 && within == 0 {
				within = started
				step()
			}
		case live.TrialEnded:
			step()
		}
	})
	took := time.Since(began)
	if whole := run.Finished.Sub(run.Started); len(trials) != 5 || steps != 6 || run.Status != result.RunComplete || whole <= 0 || whole > took {
		t.Errorf("%d trials, %d steps, the run is %s, and took %v of %v", len(trials), steps, run.Status, whole, took)
	}
	at, measured := run.Started, 0.0
	for _, tr := range trials {
		ok := tr.Status == result.TrialOK
		if tr.Seq == within {
			ok = tr.Status == result.TrialInvalid && strings.Contains(tr.Reason, "the clock was set by")
		}
		must.True(t, ok && !tr.Started.Before(at) && tr.Traffic >= tr.Window && tr.Elapsed >= tr.Traffic && tr.Metrics["transaction_rate"] > 0,
			"trial %d, after %v: %s at %v, %s; window %g, traffic %g, elapsed %g s", tr.Seq, at, tr.Status, tr.Started, tr.Reason, tr.Window, tr.Traffic, tr.Elapsed)
		at, measured = tr.Started, measured+tr.Settle+tr.Elapsed
	}
	must.True(t, measured <= took.Seconds(), "the trials took %g s of %v", measured, took)
}
