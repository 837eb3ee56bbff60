package exchange

import (
	"errors"
	"fmt"
	"time"

	"tare/internal/result"
	"tare/internal/traffic"
)

// The old rate is back at the first moment from which, over RateWindow, the answers are at least RateShare of the offered
// requests. Moments are EventBin apart.
const (
	RateWindow = 100 * time.Millisecond
	RateShare  = 0.95
	EventBin   = 10 * time.Millisecond
)

// NotSent is the kind of failed requests that were due and waited for the answer to another one until the trial ended.
const NotSent = "not answered in the trial"

// answers are the answers of a trial with an event, in an amount of memory that its length alone decides.
type answers struct {
	clock    *traffic.EventClock
	begun    time.Duration // the start of the window, by clock; 0 before
	from, to time.Duration // the timed part of the window
	due      int64
	inTime   int64    // requests that were due in the timed part and were answered
	bins     []uint32 // answers that arrived in the timed part, by EventBin
	last     time.Duration
	longest  time.Duration // without an answer, of those times that ended after the event began
}

func newAnswers(p traffic.Params, slots int64) *answers {
	if p.Event == "" || p.EventClock == nil || p.Duration <= 0 {
		return nil
	}
	return &answers{clock: p.EventClock, from: p.Warmup, to: p.Warmup + p.Duration, due: slots,
		bins: make([]uint32, p.Duration/EventBin+1), last: p.Warmup}
}

// add counts the answer at at to a request that was due at from.
func (a *answers) add(from, at time.Duration) {
	if from >= a.from && from < a.to {
		a.inTime++
	}
	if at < a.from || at >= a.to {
		return
	}
	a.bins[(at-a.from)/EventBin]++
	a.note(at)
}

// note ends the time without an answer since the last one.
func (a *answers) note(at time.Duration) {
	if at <= a.last { // of another thread, which was earlier
		return
	}
	if began, _ := a.clock.Times(); began > 0 && at >= began-a.begun {
		a.longest = max(a.longest, at-a.last)
	}
	a.last = at
}

// seen is what the trial shows of its event. It fails if the event was not within the timed part, with time before it and after it.
func (a *answers) seen(rate int) (*traffic.EventSeen, error) {
	began, ended := a.clock.Times()
	if began == 0 || ended == 0 || a.begun == 0 {
		return nil, errors.New("the event had not happened when the trial ended")
	}
	began, ended = began-a.begun, ended-a.begun
	if began < a.from+RateWindow || ended > a.to-RateWindow {
		return nil, fmt.Errorf("the event lasted from %s to %s, which is not within the timed window from %s to %s; set a longer duration",
			began.Round(time.Millisecond), ended.Round(time.Millisecond), a.from, a.to)
	}
	a.note(a.to) // a gap that goes on counts up to the end
	s := &traffic.EventSeen{Began: (began - a.from).Seconds(), Ended: (ended - a.from).Seconds(), Due: a.due, Answered: a.inTime, Gap: a.longest.Seconds()}
	if after, back := recovery(a.bins, began-a.from, a.to-a.from, rate); back {
		s.Recovery = new(after.Seconds())
	}
	return s, nil
}

// recovery is how long after an event the old rate was back, 0 if it never fell; back is false if it fell and did not come back before
// the end. Bins are the answers by EventBin; event and end are since the start of the first, and rate is the offered one per second.
//
// Requests that waited are answered all at once when the path is back. A moment before that is none at which the rate is back: the answers
// begin with it, and those of one bin count at most twice as many as were offered in its time.
func recovery(bins []uint32, event, end time.Duration, rate int) (after time.Duration, back bool) {
	const wide = int(RateWindow / EventBin)
	first, last := int((event+EventBin-1)/EventBin), int(end/EventBin)
	offered := float64(rate) * EventBin.Seconds() // in a bin
	least := RateShare * offered * float64(wide)
	fell := false
	for i := first; i+wide <= last; i++ {
		var all, even float64
		for _, n := range bins[i : i+wide] {
			all += float64(n)
			even += min(float64(n), 2*offered)
		}
		switch {
		case all < least:
			fell = true
		case fell && even >= least && float64(bins[i]) >= offered/2:
			return time.Duration(i)*EventBin - event, true
		}
	}
	return 0, !fell
}

// addEvent adds the metrics of a trial with an event.
func addEvent(m map[string]float64, e traffic.EventSeen) {
	m[result.LongestGap] = e.Gap
	if e.Due > 0 {
		m["loss_ratio"] = float64(e.Due-e.Answered) / float64(e.Due)
	}
	if e.Recovery != nil {
		m[result.Recovery] = *e.Recovery
	}
	if e.Lost != nil {
		m[result.ConnectionsLost] = float64(*e.Lost)
	}
}
