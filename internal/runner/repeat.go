package runner

import (
	"errors"
	"fmt"
	"time"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/runner/schedule"
	"tare/internal/traffic"
	"tare/internal/warning"
	"tare/internal/wording"
)

// heldError ends a trial in slices whose path holds more data than a slice carries, and tooShortError a trial in
// one piece that was too short for its path. SliceError ends all trials of a group of which one requires longer slices:
// the trials of a pair then have the same. The trial is repeated as the schedule then decides.
type (
	heldError  struct{ held *traffic.Held }
	sliceError struct {
		slice time.Duration // which the trials of its group require
		why   string
	}
	tooShortError struct {
		next plan.Trial
		why  string
	}
)

func (e *heldError) Error() string {
	return fmt.Sprintf("its path holds %s of data, more than a slice carries; it is repeated in one piece", wording.Duration(e.held.Time()))
}

func (e *sliceError) Error() string {
	return fmt.Sprintf("%s; it is repeated with slices of %s", e.why, wording.Value(e.slice.Seconds(), "s"))
}

func (e *tooShortError) Error() string {
	w := e.next.Workload
	return fmt.Sprintf("%s; it is repeated with a warm-up of %s and %s timed", e.why, wording.Duration(w.Warmup.Std()), wording.Duration(w.Duration.Std()))
}

// checkHeld ends the trial if the path of one of its pairs holds more than a slice carries, after a transfer
// that took that long.
func (tr *trialRun) checkHeld(took time.Duration) error {
	enough := min(schedule.SlowTransfers, tr.Rounds()) // of a short trial all
	for _, p := range tr.pairs {
		if p.slow = schedule.Slow(p.slow, p.held, took, tr.Workload.Slice.Std()); p.slow >= enough {
			return &heldError{p.held}
		}
	}
	return nil
}

// rtt is the longest round trip of the trial's pairs when they had warmed up, 0 if it is unknown.
func (tr *trialRun) rtt() (longest time.Duration) {
	for _, p := range tr.pairs {
		if p.held != nil {
			longest = max(longest, p.held.RTT)
		}
	}
	return longest
}

// checkRoundTrips ends the trials of a group in slices if the round trips of one of their paths are too long for these.
func checkRoundTrips(group []*trialRun) {
	repeatInSlices(group, longestSlice(group, func(tr *trialRun, slice time.Duration) (time.Duration, string) {
		rtt := tr.rtt()
		return schedule.SliceOf(rtt, slice), fmt.Sprintf("a round trip of %s takes %s", tr.Mode, wording.Duration(rtt))
	}))
}

// checkTransients ends the trials of a group in slices if one of them shows that its transfers had not settled in the
// uncounted part of a slice, and the group of their workload before showed that, too.
func (r *measurement) checkTransients(group []*trialRun) {
	longer := longestSlice(group, func(tr *trialRun, slice time.Duration) (time.Duration, string) {
		profile := tr.client.Window.Profile
		if profile == nil {
			profile = tr.server.Window.Profile
		}
		return schedule.SettledSlice(profile, slice), fmt.Sprintf("the traffic of %s settles later in a slice than in its uncounted fifth", tr.Mode)
	})
	if r.schedule.Unsettled(group[0].Workload.ID, longer != nil) {
		repeatInSlices(group, longer)
	}
}

// longestSlice is the longest slice that a trial of a group requires, nil if none requires a longer one than they have.
func longestSlice(group []*trialRun, required func(tr *trialRun, slice time.Duration) (time.Duration, string)) *sliceError {
	if first := group[0].Trial; !first.Sliced() || first.Aside() || first.InCostPass() {
		return nil
	}
	slice := group[0].Workload.Slice.Std()
	longer := sliceError{slice: slice}
	for _, tr := range group {
		if tr.err != nil {
			continue
		}
		if need, why := required(tr, slice); need > longer.slice {
			longer = sliceError{need, why}
		}
	}
	if longer.slice == slice {
		return nil
	}
	return &longer
}

// repeatInSlices ends the trials of a group, if these require longer slices.
func repeatInSlices(group []*trialRun, longer *sliceError) {
	for _, tr := range group {
		if longer != nil && tr.err == nil {
			tr.err, tr.out.Metrics, tr.out.Series, tr.out.Distributions = longer, nil, nil, nil
		}
	}
}

// checkLength ends a trial in one piece that was too short for its path, or whose goodput still fell at the
// end of the longest.
func (tr *trialRun) checkLength() error {
	held := tr.client.Held
	if s := tr.server.Held; held == nil || s != nil && s.Time() > held.Time() {
		held = s
	}
	seen := schedule.Seen{Goodput: tr.out.Metrics["goodput"], Held: held}
	if tr.out.Series != nil {
		seen.Series = tr.out.Series.Values
	}
	for _, spent := range tr.observed.CPUTime {
		if share, known := spent.BusiestCPU(); known {
			seen.BusiestCPU = max(seen.BusiestCPU, share)
		}
	}
	var shaper string
	var values result.Values
	if directed := directions(tr.pairs[0].clientSide, tr.client, tr.server); len(directed) == 1 {
		received := directed[0].to.Received
		if s, in, passed := tr.observed.Shaper(received); s != nil {
			seen.Rate, seen.Burst = float64(s.Rate), float64(s.Burst)
			seen.Overhead = float64(passed) / float64(max(1, received))
			values = result.NewValues(s.Kind, s.Device, in, wording.Value(seen.Rate, "bit/s"))
			shaper = fmt.Sprintf("the shaper %s on %s of %s lets %s pass, and after a pause %s at once",
				s.Kind, s.Device, in, wording.Value(seen.Rate, "bit/s"), wording.Value(seen.Burst, "B"))
		}
	}
	next, judged := schedule.Judge(tr.Trial, seen)
	switch judged {
	case schedule.TooShort:
		return &tooShortError{next, "its path holds " + wording.Duration(next.Held) + " of data"}
	case schedule.StillBursting:
		return &tooShortError{next, shaper}
	case schedule.Unsteady:
		return &tooShortError{next, "its goodput changed within " + wording.Duration(tr.Workload.Duration.Std())}
	case schedule.TooSlow:
		return fmt.Errorf("its path holds %s of data, which would take a window of %s. Set a smaller send_buffer or fewer streams",
			wording.Duration(next.Held), wording.Duration(next.Workload.Duration.Std()))
	case schedule.Bursting:
		return fmt.Errorf("%s: its goodput of %s is above that after a warm-up of %s. Use a smaller burst",
			shaper, wording.Value(seen.Goodput, "bit/s"), wording.Duration(tr.Workload.Warmup.Std()))
	case schedule.Falling:
		return fmt.Errorf("its goodput still falls after %s: the path lets a burst pass at more than its rate, and it is not over. Set a longer warmup",
			wording.Duration(tr.Workload.Warmup.Std()+tr.Workload.Duration.Std()))
	}
	if shaper != "" && float64(tr.underlay.Rate) != seen.Rate {
		tr.out.Notes = append(tr.out.Notes, result.Note{Code: string(warning.Shaped), Text: shaper + ": the goodput is the rate that it sustains", Values: values})
	}
	return nil
}

// reschedule is the trial to repeat in place of one that was wrong for its path; ok is false for any other.
func (r *run) reschedule(tr *trialRun) (next plan.Trial, ok bool) {
	var held *heldError
	var short *tooShortError
	var sliced *sliceError
	switch {
	case errors.As(tr.err, &sliced):
		return r.schedule.WithSlice(tr.Trial, sliced.slice, tr.rtt(), sliced.why), true
	case errors.As(tr.err, &held):
		return r.schedule.InOnePiece(tr.Trial, held.held), true
	case errors.As(tr.err, &short):
		r.schedule.Lengthen(short.next, short.why)
		return short.next, true
	}
	return plan.Trial{}, false
}
