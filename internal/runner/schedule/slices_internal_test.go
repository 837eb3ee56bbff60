package schedule

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// profiled is the profile of so many slices, whose rate rises with a time constant, in parts of a slice, and varies by noise
// from part to part. A share of the slices stops for a part of its time, as on a busy machine.
func profiled(rng *rand.Rand, slices int, constant, noise, stalled float64) (p *traffic.Profile) {
	for range slices {
		b := traffic.NewBinCounter(traffic.Params{Warmup: 10 * time.Millisecond, Duration: 40 * time.Millisecond, Slice: 50 * time.Millisecond})
		stop, length := -1, 0
		if rng.Float64() < stalled {
			stop, length = rng.IntN(50), rng.IntN(25)
		}
		for i := range 50 {
			if i < stop || i >= stop+length {
				b.Add(time.Duration(i)*time.Millisecond, int64(1000*(1-math.Exp(-(float64(i)+0.5)/constant))*max(0, 1+noise*rng.NormFloat64())))
			}
		}
		var w traffic.Window
		w.AddProfile(b)
		p = p.Plus(w.Profile)
	}
	return p
}

// A transient that lasts into the counted part of a slice makes slices longer. Noise does not, nor do slices in which
// something else held the machine.
func TestSettledSlice(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 4))
	const slice = 50 * time.Millisecond
	for _, c := range []struct {
		noise, stalled float64
	}{{0, 0}, {0.05, 0}, {0.5, 0}, {0.05, 0.1}, {0.05, 0.5}, {0.3, 1}} {
		wrong := 0
		for range 1000 {
			if SettledSlice(profiled(rng, 10, 0.1, c.noise, c.stalled), slice) != slice {
				wrong++
			}
		}
		must.True(t, wrong <= 3, "noise %g, %g of the slices stalled: %d of 1000 steady profiles have a transient", c.noise, c.stalled, wrong)
	}
	for _, constant := range []float64{8, 15, 60} {
		found := 0
		for range 200 {
			if SettledSlice(profiled(rng, 10, constant, 0.05, 0), slice) > slice {
				found++
			}
		}
		must.True(t, found >= 190, "a time constant of %g parts of a slice: found in %d of 200", constant, found)
	}
	must.EqualFor(t, "with a transient that the uncounted part covers", slice, SettledSlice(profiled(rng, 10, 2, 0.02, 0), slice))
	must.EqualFor(t, "of two slices", slice, SettledSlice(profiled(rng, 2, 60, 0, 0), slice))
	must.EqualFor(t, "without a profile", slice, SettledSlice(nil, slice))
	must.EqualFor(t, "of a profile that another build sent", slice, SettledSlice(&traffic.Profile{Slices: 9, Parts: []int64{1, 2}}, slice))
	must.EqualFor(t, "of a path with a round trip of an hour", longestWindow, SliceOf(time.Hour, slice))
	must.EqualFor(t, "of a path whose round trip is unknown", slice, SliceOf(0, slice))
}

// All modes of a workload have the same slices, in one piece where a slice is as long as the window, and a run says so once.
func TestWithSlice(t *testing.T) {
	w := study.Workload{ID: "w", Kind: "tcp_rr", Slice: quantity.Duration(20 * time.Millisecond), Warmup: quantity.WaitOf(50 * time.Millisecond), Duration: quantity.Duration(400 * time.Millisecond)}
	sc := New(config(study.Study{}), plan.Plan{Blocks: 2, Modes: []string{"host", "m"}, Workloads: []study.Workload{w, {ID: "other", Slice: w.Slice}}})
	sc.Todo = []plan.Trial{{Block: 1, Mode: "host", Workload: w}, {Block: 1, Mode: "m", Workload: w}, {Block: 2, Mode: "m", Workload: w}, {Block: 2, Mode: "m", Workload: study.Workload{ID: "other", Slice: w.Slice}}}
	group := slices.Clone(sc.Todo[:2])
	for _, one := range group {
		next := sc.WithSlice(one, 250*time.Millisecond, 5*time.Millisecond, "why")
		must.EqualFor(t, "slices of the repeated trial", 2, next.Rounds())
	}
	must.EqualFor(t, "slices of the next block", 250*time.Millisecond, sc.Todo[2].Workload.Slice.Std())
	must.EqualFor(t, "slices of another workload", 20*time.Millisecond, sc.Todo[3].Workload.Slice.Std())
	must.EqualFor(t, "lengths recorded", 1, len(sc.cfg.Report.Lengths))
	must.EqualFor(t, "the slice recorded", 0.25, sc.cfg.Report.Lengths[0].Slice)
	for _, one := range group {
		next := sc.WithSlice(one, time.Second, 20*time.Millisecond, "why")
		if next.Sliced() || next.Workload.Duration.Std() != time.Second || next.Workload.Warmup.Std() != 200*time.Millisecond || next.Held != 20*time.Millisecond {
			t.Errorf("%s in slices: %t, warm-up %v, %v timed, held %v", next.Mode, next.Sliced(), next.Workload.Warmup, next.Workload.Duration, next.Held)
		}
	}
	must.True(t, sc.Todo[2].Held != 0 && sc.Todo[3].Held == 0, "later trials held %v and %v", sc.Todo[2].Held, sc.Todo[3].Held)
}

// Only what two groups of a workload in a row show is a transient.
func TestUnsettled(t *testing.T) {
	sc := &Schedule{shifted: map[string]bool{}}
	for i, c := range []struct {
		workload    string
		shown, want bool
	}{{"rr", true, false}, {"stream", true, false}, {"rr", false, false}, {"rr", true, false}, {"rr", true, true}, {"stream", true, true}} {
		if got := sc.Unsettled(c.workload, c.shown); got != c.want {
			t.Errorf("%d, %s: %t", i, c.workload, got)
		}
	}
}
