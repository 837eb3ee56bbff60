package traffic

import (
	"sync/atomic"
	"time"

	"tare/internal/traffic/clock"
)

// EventClock has when the event of a trial happened, by the clock of the client, which the controller tells it. It may be used by
// several goroutines.
type EventClock struct {
	start        clock.Instant
	began, ended atomic.Int64 // ns since start, 0 while unknown
}

// NewEventClock starts the clock.
func NewEventClock() *EventClock { return &EventClock{start: clock.Now()} }

// Begin notes that the event begins now, and End that it is over: the first call of each counts.
func (c *EventClock) Begin() { c.began.CompareAndSwap(0, int64(c.start.Since())) }

// End is described at Begin.
func (c *EventClock) End() { c.ended.CompareAndSwap(0, int64(c.start.Since())) }

// Now is the time since the clock was started.
func (c *EventClock) Now() time.Duration { return c.start.Since() }

// Times are when the event began and ended since the clock was started, 0 for what is unknown.
func (c *EventClock) Times() (began, ended time.Duration) {
	return time.Duration(c.began.Load()), time.Duration(c.ended.Load())
}

// EventSeen is what the client of a trial with an event saw. Times are seconds since the start of the timed window. Requests are those
// that were due in it.
type EventSeen struct {
	Began    float64          `json:"began"`              // when the event began
	Ended    float64          `json:"ended"`              // when the driver had made it
	Gap      float64          `json:"gap"`                // the longest time without an answer that ended after the event began, s
	Recovery *float64         `json:"recovery,omitempty"` // from the event until the old rate was back, s; 0 if it never fell, nil if it did not come back
	Due      int64            `json:"due"`                // requests
	Answered int64            `json:"answered"`           // of Due
	Lost     *int64           `json:"lost,omitempty"`     // connections that ended and that the client did not end; nil if it ends each
	Failed   map[string]int64 `json:"failed,omitempty"`   // of Due, those without an answer, by kind
}
