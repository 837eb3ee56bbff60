package plan

import (
	"math/rand/v2"
	"slices"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic/workloads"
)

// The tail pass: so many trials of each mode, of that length. The 99.99th percentile needs 37,000 exchanges for an interval.
const (
	TailTrials   = 8
	tailDuration = 3 * time.Second
	tailWarmup   = 250 * time.Millisecond
)

// Tails are the trials of the tail pass, without their rates, which the run chooses; none unless the study asks for it. They are
// those of workloads with one exchange after the other, by the built-in generator, on a schedule: whole trials, without slices, in which
// a stall delays every request that was due meanwhile. They run after the last block, each mode once in each round, in random order.
// In the profile paper they are as long as its other trials.
func Tails(s study.Study) []Trial {
	if s.Tails != study.On {
		return nil
	}
	var all []study.Workload
	for _, w := range s.Workloads {
		t, err := workloads.Named(w.Kind)
		if err != nil || External(w) || w.TransactionRate > 0 || w.Pipeline > 1 || !slices.Contains(t.Spec().Optional, "transaction_rate") {
			continue
		}
		for _, one := range variants(w) {
			long := tailDuration
			if s.Profile == study.Paper {
				long = max(long, w.Duration.Std())
			}
			one.Slice, one.Warmup, one.Duration, one.DurationMin, one.DurationMax = quantity.AtOnce, quantity.WaitOf(tailWarmup), quantity.Duration(long), 0, 0
			all = append(all, one.Workload)
		}
	}
	var out []Trial
	for round := range TailTrials {
		rng := rand.New(rand.NewPCG(s.Seed, 1<<63|1<<62|uint64(round)))
		for _, w := range shuffled(rng, all) {
			for _, m := range shuffled(rng, s.ModeNames()) {
				out = append(out, Trial{Block: round + 1, Mode: m, Workload: w, Tail: true})
			}
		}
	}
	return out
}

// AtTailRate is a trial of the tail pass at so many requests per second of all its clients.
func (t Trial) AtTailRate(total float64) Trial {
	t.Workload.TransactionRate = max(1, int(total/float64(t.Workload.Clients())))
	return t
}

// TailRate is the requests per second of a trial of the tail pass, of all its clients; 0 for any other.
func (t Trial) TailRate() float64 {
	if !t.Tail {
		return 0
	}
	return float64(t.Workload.TransactionRate * t.Workload.Clients())
}
