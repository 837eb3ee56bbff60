package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// alone is a trial of a run with one mode, on an underlay of this rate.
func alone(rate quantity.Rate, w study.Workload) (*measurement, *trialRun) {
	s := &modeUnderTest{path: &driver.Path{Underlay: &driver.Underlay{Rate: uint64(rate)}}}
	s.mode.ID = "host"
	r := &measurement{testbed: testbed{tested: []*modeUnderTest{s}}}
	t := plan.Trial{Mode: "host", Workload: w}
	return r, &trialRun{Trial: t, tested: s, pairs: []*pair{{}}, budget: r.budget(t)}
}

// A slice that hangs times out alone, long before the trials interleaved with it.
func TestSliceThatHangs(t *testing.T) {
	t.Setenv(timelimit.Variable, "1")
	synctest.Test(t, func(t *testing.T) {
		_, tr := alone(0, study.Workload{Kind: "tcp_stream", Duration: quantity.Duration(time.Second)})
		began := time.Now()
		tr.timedPart(t.Context(), "a slice", 125*time.Millisecond, func(ctx context.Context, _ *pair) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		must.EqualFor(t, "time until it timed out", 125*time.Millisecond+trialGrace(), time.Since(began))
		must.FailFor(t, "its reason", tr.err, "a slice of 125ms timed out after "+(125*time.Millisecond+trialGrace()).String())
	})
}

// On a slow path a slice takes longer than its traffic, because data in flight must
// arrive. A pilot of eight modes does not time out because of that.
func TestSlowSlicesHaveTime(t *testing.T) {
	w := study.Workload{Kind: "tcp_stream", Slice: quantity.Duration(125 * time.Millisecond), Duration: quantity.Duration(15 * time.Second)}
	r, tr := alone(0, w)
	must.Require(t, tr.Sliced(), "the trial is not interleaved")
	slow := time.Duration(tr.Rounds()) * 2 * tr.Workload.Slice.Std() // each takes as long again
	if got := r.longest(tr.Trial); got < slow {
		t.Errorf("it may take %s, want %s and more", got, slow)
	}
	limited, _ := alone(10_000_000, w)
	must.EqualFor(t, "what it has more for the rate of the underlay", time.Duration(tr.Rounds()+1)*limited.drainLimit(tr.Trial), limited.longest(tr.Trial)-r.longest(tr.Trial))
}

// A mode whose slices are slow exhausts its own time and fails with that reason. The modes
// interleaved with it complete all their slices before the deadline that they share.
func TestSlowModeUsesItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := study.Workload{Kind: "tcp_stream", Slice: quantity.Duration(125 * time.Millisecond), Duration: quantity.Duration(1500 * time.Millisecond)}
		r, slow := alone(0, w)
		_, fast := alone(0, w)
		limit := r.groupLimit([]plan.Trial{slow.Trial, fast.Trial})
		began, slices := time.Now(), 0
		for range fast.Rounds() {
			for tr, takes := range map[*trialRun]time.Duration{slow: 8 * time.Second, fast: 125 * time.Millisecond} {
				tr.timedPart(t.Context(), "a slice", tr.Workload.Slice.Std(), func(ctx context.Context, _ *pair) error {
					select {
					case <-ctx.Done():
						return context.Cause(ctx)
					case <-time.After(takes):
						return nil
					}
				})
			}
			if fast.err == nil {
				slices++
			}
		}
		if took := time.Since(began); slices != fast.Rounds() || took > limit {
			t.Errorf("the fast mode completed %d of %d slices (%v) in %s, limit %s", slices, fast.Rounds(), fast.err, took, limit)
		}
		must.True(t, slow.err != nil && strings.Contains(slow.err.Error(), "its slices take long to end") && slow.elapsed <= slow.budget,
			"the slow mode took %s of %s: %v", slow.elapsed, slow.budget, slow.err)
	})
}

// One path with long round trips gives all modes of its group the same longer slices; trials that failed keep their reason, and
// those of the cost pass, pilots and trials in one piece are left alone.
func TestRoundTripsOfAGroup(t *testing.T) {
	w := study.Workload{ID: "rr", Kind: "tcp_rr", Slice: quantity.Duration(20 * time.Millisecond), Duration: quantity.Duration(400 * time.Millisecond)}
	made := func(w study.Workload, block int, rtts ...time.Duration) (group []*trialRun) {
		for _, rtt := range rtts {
			_, tr := alone(0, w)
			tr.Block, tr.pairs[0].held = block, &traffic.Held{RTT: rtt}
			group = append(group, tr)
		}
		return group
	}
	group := made(w, 1, 100*time.Microsecond, 5*time.Millisecond, 2*time.Millisecond)
	broken := errors.New("broken")
	group[2].err = broken
	checkRoundTrips(group)
	for i, want := range []string{"a round trip of host takes 5 ms; it is repeated with slices of 250 ms", "a round trip of host takes 5 ms; it is repeated with slices of 250 ms", "broken"} {
		must.FailFor(t, "a trial of the group", group[i].err, want)
	}
	pass, whole := w, w
	pass.ID, whole.Slice = study.CostPassID, quantity.AtOnce
	for name, group := range map[string][]*trialRun{
		"short round trips": made(w, 1, time.Microsecond, 0), "a pilot": made(w, 0, time.Second), "the cost pass": made(pass, 1, time.Second), "in one piece": made(whole, 1, time.Second),
	} {
		checkRoundTrips(group)
		must.EqualFor(t, name, error(nil), group[0].err)
	}
}
