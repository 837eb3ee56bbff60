package ratesearch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/testkit/must"
)

func drawGoal(t *rapid.T) Goal {
	d := rapid.SampledFrom([]float64{0.1, 0.3, 0.5, 1, 60}).Draw(t, "final")
	return Goal{
		Name:          "g",
		LossRatio:     rapid.SampledFrom([]float64{0, 0.005, 0.01}).Draw(t, "loss goal"),
		ExceedRatio:   rapid.SampledFrom([]float64{0, 0.2, 1. / 3, 0.5, 0.75}).Draw(t, "exceed"),
		FinalDuration: d,
		DurationSum:   d * rapid.Float64Range(1, 25).Draw(t, "trials' worth"),
		Width:         0.01,
	}
}

func drawTrials(t *rapid.T, g Goal) []Trial {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Trial {
		d := g.FinalDuration * rapid.SampledFrom([]float64{0.1, 0.5, 1, 1, 2}).Draw(t, "length")
		n := int64(1e6 * d)
		return Trial{
			Load: 1e6, Duration: d, Intended: n,
			Sent:     n - n*rapid.Int64Range(0, 1).Draw(t, "fell short")/50,
			Received: n - n*rapid.Int64Range(0, 15).Draw(t, "lost")/1000,
		}
	}), 0, 40).Draw(t, "trials")
}

// Method 5, item 10: one more full-length good trial never makes a lower bound an
// upper one, nor anything an upper bound; one more bad trial nothing a lower one.
func TestOneMoreTrial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGoal(t)
		all := drawTrials(t, g)
		before := Classify(g, all)
		n := int64(1e6 * g.FinalDuration)
		good := Trial{Load: 1e6, Duration: g.FinalDuration, Intended: n, Sent: n, Received: n}
		after := Classify(g, append(slices.Clone(all), good))
		must.Require(t, after == before || after != Upper && before != Lower, "%+v: a good trial made %v of %v", g, after, before)
		bad := good
		bad.Received = 0
		if after := Classify(g, append(slices.Clone(all), bad)); after != before && (after == Lower || before == Upper) {
			t.Fatalf("%+v: a bad trial made %v of %v", g, after, before)
		}
	})
}

// Method 5, item 10: neither class nor throughput ask in which order trials came, and
// the throughput is never above the load.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGoal(t)
		all := drawTrials(t, g)
		class, rate := Classify(g, all), Throughput(g, 1e6, all)
		must.Require(t, rate >= 0 && rate <= 1e6, "%g of 1e6 datagrams/s", rate)
		mixed := slices.Clone(all)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		got := Classify(g, mixed)
		must.Require(t, got == class, "%+v: %v, in another order %v", g, class, got)
		if got := Throughput(g, 1e6, mixed); got != rate {
			t.Fatalf("%+v: %g, in another order %g", g, rate, got)
		}
	})
}

// Enough full-length trials always decide, and what decides for a goal decides alike
// for the targets on the way to it.
func TestTargetsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGoal(t)
		all := drawTrials(t, g)
		class := Classify(g, all)
		n := 0.0
		for _, t := range all {
			if !t.Limited() && t.Duration >= g.FinalDuration {
				n += t.Duration
			}
		}
		must.Require(t, n <= g.DurationSum+1e-6 || class != Undecided, "%+v: undecided on %g s", g, n)
		for _, target := range targets(g, newGrid(1e3, 1e6, g.Width)) {
			if got := Classify(target.Goal, all); class != Undecided && got != class && target.FinalDuration == g.FinalDuration {
				t.Fatalf("%+v: %v, on the way to it %v for %+v", g, class, got, target.Goal)
			}
		}
	})
}

// A search ends, on any path whatsoever: its answers are bounds by its own trials,
// and the same trials in any other order give the same answers.
func TestSearchEndsOnAnyPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		goals := Quick()
		if rapid.Bool().Draw(t, "strict") {
			goals = append(goals, Strict(goals[0]))
			goals[2].Name = "strict"
		}
		config := Config{Goals: goals, Min: 10e3, Max: 2e6, MaxTime: 3000}
		if rapid.Bool().Draw(t, "near") {
			config.Near = []Bracket{{"throughput_0", rapid.Float64Range(1, 4e6).Draw(t, "lower"), 4e6}}
		}
		s, err := New(config)
		must.Require(t, err == nil, "%v", err)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "path"), 0))
		lossy, short := rng.Float64(), rng.Float64()*rng.Float64()
		for {
			r, more := s.Next()
			if !more {
				break
			}
			n := int64(r.Load * r.Duration)
			trial := Trial{Load: r.Load, Duration: r.Duration, Intended: n, Sent: n, Received: n}
			if rng.Float64() < short {
				trial.Sent = int64(float64(n) * rng.Float64())
			}
			if rng.Float64() < lossy {
				trial.Received = int64(float64(n) * rng.Float64())
			}
			must.Do(t, s.Add(trial))
		}
		must.Require(t, s.Spent() <= 2999, "%g s of trials, %d of them", s.Spent(), len(s.Trials()))
		again, err := New(config)
		must.Require(t, err == nil, "%v", err)
		mixed := s.Trials()
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for _, trial := range mixed {
			must.Do(t, again.Add(trial))
		}
		other := again.Outcomes()
		for i, o := range s.Outcomes() {
			checkOutcome(t, s, o)
			if !same(o.Lower, other[i].Lower) || !same(o.Upper, other[i].Upper) || !same(o.Throughput, other[i].Throughput) {
				t.Fatalf("%+v, in another order %+v", o, other[i])
			}
		}
	})
}

func same(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

// checkOutcome holds an outcome against the trials it is from.
func checkOutcome(t interface{ Fatalf(string, ...any) }, s *Search, o Outcome) {
	at := func(load float64) (found []Trial) {
		for _, trial := range s.Trials() {
			if trial.Load == load {
				found = append(found, trial)
			}
		}
		return found
	}
	if o.Lower != nil {
		if got := Classify(o.Goal, at(*o.Lower)); got != Lower {
			t.Fatalf("the lower bound %g is %v", *o.Lower, got)
		}
		if *o.Throughput != Throughput(o.Goal, *o.Lower, at(*o.Lower)) || *o.Throughput > *o.Lower || o.LossyUpper == nil {
			t.Fatalf("%+v", o)
		}
	}
	if o.Upper != nil {
		if got := Classify(o.Goal, at(*o.Upper)); got != Upper {
			t.Fatalf("the upper bound %g is %v", *o.Upper, got)
		}
		if o.Lower != nil && *o.Lower >= *o.Upper {
			t.Fatalf("bounds %g and %g", *o.Lower, *o.Upper)
		}
	}
	narrow := o.Lower != nil && o.Upper != nil && (*o.Upper-*o.Lower) / *o.Upper <= o.Width*(1+1e-9)
	if o.Regular != narrow {
		t.Fatalf("regular %t: %+v", o.Regular, o)
	}
	if !o.Regular && len(o.Notes) == 0 {
		t.Fatalf("irregular without a note: %+v", o)
	}
}
