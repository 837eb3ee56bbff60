package ratesearch

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/testkit/must"
)

const (
	capacity = 649e3 // datagrams/s
	overhead = 0.3   // seconds that each trial takes beside sending
)

// sim is a simulated path with a sender.
type sim struct {
	rng    *rand.Rand
	curve  func(load, capacity float64) float64 // datagrams/s that arrive
	jitter float64                              // sd of the capacity from trial to trial, relative
	spikes float64                              // spikes of 0.05-2 % loss a second
	sender float64                              // the most that the sender sends, datagrams/s; 0: any
	slow   float64                              // seconds more that each trial takes beside sending
	asked  []Request                            // in the order of the search
	trials int
	time   float64 // seconds, overhead included
}

func (s *sim) Measure(_ context.Context, r Request) (Trial, error) {
	s.asked = append(s.asked, r)
	s.trials++
	s.time += r.Duration + overhead + s.slow
	t := Trial{Load: r.Load, Duration: r.Duration, Intended: int64(r.Load * r.Duration)}
	t.Sent = t.Intended
	if s.sender > 0 {
		t.Sent = min(t.Sent, int64(s.sender*r.Duration))
	}
	offered := float64(t.Sent) / r.Duration
	arrives := min(offered, s.curve(offered, capacity*(1+s.jitter*s.rng.NormFloat64())))
	if s.rng.Float64() < -math.Expm1(-s.spikes*r.Duration) {
		arrives *= 1 - (0.0005 + 0.0195*s.rng.Float64())
	}
	t.Received = t.Sent - int64(math.Ceil(float64(t.Sent)-arrives*r.Duration-1e-6))
	return t, nil
}

func sharp(load, c float64) float64 { return min(load, c) }

// soft loses 0 to 0.3 % between 0.7 c and c.
func soft(load, c float64) float64 {
	return min(c, load) * (1 - 0.003*min(1, max(0, (load/c-0.7)/0.3)))
}

func livelock(load, c float64) float64 {
	if load <= c {
		return load
	}
	return c * math.Exp(-0.5*(load/c-1))
}

func search(t testing.TB, m *sim, goals []Goal, near ...Bracket) (*Search, []Outcome) {
	t.Helper()
	s := must.Get(New(Config{Goals: goals, Min: 10e3, Max: 2e6, Near: near}))(t)
	return s, must.Get(Run(t.Context(), s, m))(t)
}

// inRange fails the test unless lo <= got <= hi. With -v it tells what was
// measured.
func inRange(t *testing.T, what string, got, lo, hi float64) {
	t.Helper()
	t.Logf("%s: %.4f", what, got)
	must.True(t, got >= lo && got <= hi, "%s: %.4f, want %g to %g", what, got, lo, hi)
}

func summarise(xs []float64) (median, sd, low float64) {
	xs = slices.Sorted(slices.Values(xs))
	mean := 0.0
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		sd += (x - mean) * (x - mean) / float64(len(xs)-1)
	}
	return xs[len(xs)/2], math.Sqrt(sd), xs[0]
}
