package ratesearch

import (
	"context"
	"fmt"
)

// Measurer makes trials.
type Measurer interface {
	// Measure offers r.Load datagrams/s for r.Duration seconds and tells what came
	// of it. An error ends the search.
	Measure(ctx context.Context, r Request) (Trial, error)
}

// Run carries out a search to its end. Where the measurer fails or ctx ends, the
// outcomes are those of the trials until then, beside the error.
func Run(ctx context.Context, s *Search, m Measurer) ([]Outcome, error) {
	for {
		r, more := s.Next()
		if !more {
			return s.Outcomes(), nil
		}
		if err := ctx.Err(); err != nil {
			return s.Outcomes(), fmt.Errorf("rate search: %w", err)
		}
		t, err := m.Measure(ctx, r)
		if err == nil {
			err = s.Add(t)
		}
		if err != nil {
			return s.Outcomes(), fmt.Errorf("rate search: trial of %g s at %.6g datagrams/s: %w", r.Duration, r.Load, err)
		}
	}
}

// Trials is every trial so far, by load and in the order of Add, those of limited senders
// among them: the curve of loss over load.
func (s *Search) Trials() []Trial {
	var all []Trial
	for _, load := range s.loads {
		all = append(all, s.byLoad[load]...)
	}
	return all
}

// RFC2544 is the goal whose answer is RFC 2544's throughput: trials of 60 s, and
// not one datagram lost in them. width is relative.
func RFC2544(width float64) Goal {
	return Goal{Name: "throughput_0", FinalDuration: 60, DurationSum: 60, Width: width}
}

// Pair is the two goals asked for together: no loss, and at most 1 % of it, in the
// median trial. Their names are those of the metrics. trial and sum are seconds.
func Pair(trial, sum, width float64) []Goal {
	g := Goal{ExceedRatio: 0.5, FinalDuration: trial, DurationSum: sum, Width: width}
	none, some := g, g
	none.Name, some.Name, some.LossRatio = "throughput_0", "throughput_1", 0.01
	return []Goal{none, some}
}

// Quick is the pair of the profile of that name: 0.5 s trials, 1.5 s of evidence, a
// bracket of 2 %.
func Quick() []Goal { return Pair(0.5, 1.5, 0.02) }

// Standard is the pair of that profile: 1 s, 5 s, 1 %.
func Standard() []Goal { return Pair(1, 5, 0.01) }

// Paper is the pair of that profile: 1 s, 21 s, 0.5 %.
func Paper() []Goal { return Pair(1, 21, 0.005) }
