package traffic_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

func loop(flows int) traffic.LoopCounter {
	p := traffic.Params{Warmup: 4 * time.Millisecond, Duration: 16 * time.Millisecond}
	return traffic.LoopCounter{BinCounter: traffic.NewBinCounter(p), Flows: flows}
}

// What is counted in a window of 4 to 20 ms, by when an exchange begins and ends.
func TestLoopCounter(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		flows int
		ends  []time.Duration // of exchanges, each begins at the end of the one before
		count int64
		time  time.Duration
	}{
		{"within the window", 1, []time.Duration{4 * ms, 10 * ms, 16 * ms, 20 * ms}, 3, 16 * ms},
		{"the last one is long", 1, []time.Duration{4 * ms, 10 * ms, 210 * ms}, 2, 206 * ms},
		{"one from the warm-up", 1, []time.Duration{3 * ms, 9 * ms, 20 * ms, 26 * ms}, 2, 17 * ms},
		{"a long one from the warm-up", 1, []time.Duration{3 * ms, 209 * ms, 215 * ms, 226 * ms}, 2, 17 * ms},
		{"one from the warm-up, of several flows", 2, []time.Duration{3 * ms, 9 * ms, 20 * ms}, 1, 13500 * time.Microsecond},
		{"one over all of it, of several flows", 2, []time.Duration{3 * ms, 209 * ms}, 0, 8 * ms},
		{"a schedule", 0, []time.Duration{3 * ms, 10 * ms, 16 * ms, 30 * ms}, 2, 16 * ms},
	} {
		l, from := loop(c.flows), time.Duration(0)
		for _, at := range c.ends {
			l.Add(from, at, true)
			from = at
		}
		must.EqualFor(t, c.name, c.count, l.Counted())
		must.EqualFor(t, c.name, c.time, l.Time())
	}
}

// The rate in slices of 20 ms is that of the flow, although an exchange that lost a packet takes ten
// slices: 0.1 to 20 % of the packets are lost.
func TestLoopCounterOnLossyPath(t *testing.T) {
	const took, again = 20 * time.Microsecond, 200 * time.Millisecond
	for _, loss := range []float64{0.001, 0.01, 0.02, 0.05, 0.1, 0.2} {
		for _, flows := range []int{1, 4} {
			rng := rand.New(rand.NewPCG(1, 2))
			var n int64
			var sum time.Duration
			for range 5_000 {
				l := loop(flows)
				for range flows {
					for at := time.Duration(0); at < l.End; {
						from := at
						if at += took; rng.Float64() < loss {
							at += again
						}
						l.Add(from, at, true)
					}
				}
				n, sum = n+l.Count, sum+l.Time()
			}
			want := float64(flows) / (took.Seconds() + loss*again.Seconds())
			if got := float64(n) / sum.Seconds(); math.Abs(got/want-1) > 0.03 {
				t.Errorf("%g %% loss, %d flows: %.4g exchanges/s, want %.4g", 100*loss, flows, got, want)
			}
		}
	}
}
