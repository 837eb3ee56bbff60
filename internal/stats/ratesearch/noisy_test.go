package ratesearch

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/testkit/must"
)

const seeds = 200

// weather is what a machine does to a path from trial to trial.
type weather struct {
	name           string
	jitter, spikes float64
	sd             float64 // the most that the no-loss rate may scatter
}

func weathers() []weather {
	return []weather{{"noise", 0.01, 0.02, 0.01}, {"rough", 0.03, 0.05, 0.02}}
}

// half is the share of the capacity at which half of the trials lose nothing, which
// is what the goal of no loss asks for: a little below 1, since a spike makes a
// trial lossy at any load.
func (w weather) half(seconds float64) float64 {
	low := 1 - 0.5/math.Exp(-w.spikes*seconds) // the probability left for capacities below
	return 1 + w.jitter*math.Sqrt2*math.Erfinv(2*low-1)
}

// Method 5, items 11 and 13: what a search costs and how well it repeats, on a sharp
// knee and on one beyond which less arrives the more is sent. The seconds are the
// table of docs/rate-search.md.
func TestSearchNoisy(t *testing.T) {
	for _, c := range []struct {
		name  string
		goals []Goal
		curve func(load, c float64) float64
		time  [2]float64 // seconds of a search, by weather
	}{
		{"0.5 s, 1.5 s, 2 %: sharp", Quick(), sharp, [2]float64{6.6, 8.1}},
		{"0.5 s, 1.5 s, 2 %: livelock", Quick(), livelock, [2]float64{13, 15}},
		{"0.5 s, 1.5 s, 1 %: sharp", Pair(0.5, 1.5, 0.01), sharp, [2]float64{8.5, 9.6}},
		{"0.5 s, 1.5 s, 1 %: livelock", Pair(0.5, 1.5, 0.01), livelock, [2]float64{16, 17}},
		{"1 s, 5 s, 1 %: sharp", Standard(), sharp, [2]float64{22, 27}},
		{"1 s, 5 s, 1 %: livelock", Standard(), livelock, [2]float64{32, 39}},
		{"1 s, 21 s, 0.5 %: sharp", Paper(), sharp, [2]float64{106, 125}},
		{"1 s, 21 s, 0.5 %: livelock", Paper(), livelock, [2]float64{113, 135}},
	} {
		for i, w := range weathers() {
			t.Run(c.name+", "+w.name, func(t *testing.T) {
				t.Parallel()
				var time float64
				var rates [2][]float64
				for seed := range uint64(seeds) {
					m := &sim{rng: rand.New(rand.NewPCG(seed, 11)), curve: c.curve, jitter: w.jitter, spikes: w.spikes}
					_, out := search(t, m, c.goals)
					time += m.time / seeds
					for g, o := range out {
						if !o.Regular {
							t.Errorf("seed %d: %+v", seed, o)
							continue
						}
						rates[g] = append(rates[g], *o.Throughput/capacity)
					}
				}
				inRange(t, "mean seconds", time, 0.8*c.time[i], 1.2*c.time[i])
				for g, goal := range c.goals {
					median, sd, least := summarise(rates[g])
					asked := 1.0
					if goal.LossRatio == 0 {
						asked = w.half(goal.FinalDuration)
					}
					inRange(t, goal.Name+", median of the capacity", median, asked-goal.Width, asked+goal.Width)
					inRange(t, goal.Name+", sd", sd, 0, w.sd)
					inRange(t, goal.Name+", least", least, 0.9, 1)
				}
			})
		}
	}
}

// Method 5, item 11: a single upper bound is doubted. On the way up from a
// livelock a search looks at many loads below the knee, and two bad trials of three
// at one of them would end it there: in 1 search of 200, without the doubt.
func TestSearchIsRarelyFooled(t *testing.T) {
	const searches = 4000
	w := weathers()[1]
	fooled := 0.0
	for seed := range uint64(searches) {
		m := &sim{rng: rand.New(rand.NewPCG(seed, 12)), curve: livelock, jitter: w.jitter, spikes: w.spikes}
		if _, out := search(t, m, Quick()); *out[0].Throughput < 0.9*capacity {
			fooled += 1.0 / searches
		}
	}
	inRange(t, "answers below 0.9 of the capacity", fooled, 0, 0.001)
}

// Method 5, item 11, the guard: in the same weather a bisection by single trials is
// wrong, not merely scattered. One lossy spike caps everything above it for good,
// and longer trials meet more of them. Where this test fails, the simulated paths
// have lost their teeth, and TestSearchNoisy says nothing.
func TestBisectionIsWrong(t *testing.T) {
	for _, w := range weathers() {
		sds := map[float64]float64{}
		for _, seconds := range []float64{1, 5} {
			var rates []float64
			for seed := range uint64(seeds) {
				m := &sim{rng: rand.New(rand.NewPCG(seed, 11)), curve: sharp, jitter: w.jitter, spikes: w.spikes}
				rates = append(rates, bisect(t.Context(), m, seconds)/capacity)
			}
			_, sd, least := summarise(rates)
			sds[seconds] = sd
			inRange(t, fmt.Sprintf("%s, trials of %g s: least", w.name, seconds), least, 0, 0.3)
			inRange(t, fmt.Sprintf("%s, trials of %g s: sd", w.name, seconds), sd, 0.05, 1)
		}
		must.True(t, sds[5] > sds[1], "%s: trials of 5 s scatter %g, those of 1 s %g", w.name, sds[5], sds[1])
	}
}

// bisect is the search that many do: each load once, to a bracket of 1 %.
func bisect(ctx context.Context, m *sim, seconds float64) float64 {
	lower, upper := 10e3, 2e6
	for (upper-lower)/upper > 0.01 {
		middle := math.Sqrt(lower * upper)
		if t, _ := m.Measure(ctx, Request{middle, seconds}); t.LossRatio() > 0 {
			upper = middle
		} else {
			lower = middle
		}
	}
	return lower
}

// Method 5, item 12: what a trial takes beside sending is no evidence. With 0.3 s of
// it counted, one bad trial of 0.5 s would be 0.8 of the 1.5 s asked for, and
// condemn a load alone.
func TestOverheadIsNoEvidence(t *testing.T) {
	goal := Quick()[0]
	bad := trials(1, 0.5, 0.01)
	must.Equal(t, Undecided, Classify(goal, bad))
	counted := trials(1, 0.5+overhead, 0.01)
	must.Equal(t, Upper, Classify(goal, counted))
	// A measurer that takes longer changes nothing of what a search does.
	quick := &sim{rng: rand.New(rand.NewPCG(1, 1)), curve: sharp, jitter: 0.03, spikes: 0.05}
	slow := &sim{rng: rand.New(rand.NewPCG(1, 1)), curve: sharp, jitter: 0.03, spikes: 0.05, slow: 30}
	one, _ := search(t, quick, Quick())
	two, _ := search(t, slow, Quick())
	must.True(t, fmt.Sprint(one.Trials(), quick.asked) == fmt.Sprint(two.Trials(), slow.asked) && one.Spent() == two.Spent(),
		"%d trials, %g s; with a slow measurer %d, %g s", len(one.Trials()), one.Spent(), len(two.Trials()), two.Spent())
}
