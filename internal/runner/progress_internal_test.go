package runner

import (
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// The rates of all endpoints that count are added, and reported no more often than one
// endpoint reports.
func TestPulse(t *testing.T) {
	type said struct {
		At   time.Duration
		Rate float64
	}
	var got []said
	p := &progressRate{ends: make([]endpointRate, 4), counted: 2, send: func(at time.Duration, rate float64) { got = append(got, said{at, rate}) }}
	t0 := time.Unix(1000, 0)
	const ms = time.Millisecond
	hear := func(end int, count int64, busy, at time.Duration) {
		p.add(end, traffic.Progress{Count: count, Busy: busy}, t0.Add(at))
	}
	first := p.listenerOf(0)
	p.listenerOf(2)
	hear(0, 1000, 100*ms, 500*ms) // of the other pair nothing is known yet
	hear(2, 500, 100*ms, 510*ms)
	hear(0, 2000, 200*ms, 1000*ms)
	hear(2, 1500, 300*ms, 1010*ms) // too soon
	hear(2, 1500, 300*ms, 1600*ms) // nothing new: the rate stays
	p.listenerOf(0)
	p.listenerOf(2)
	hear(0, 100, 100*ms, 2500*ms) // a trial that starts again is not measured against the one before
	hear(2, 100, 100*ms, 2510*ms)
	want := []said{{100 * ms, 15000}, {200 * ms, 15000}, {300 * ms, 15000}, {100 * ms, 2000}}
	must.Equal(t, want, got)
	first(traffic.Progress{})
}
