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

// String says what the exceed ratio and the loss ratio ask, for reading: "median
// trial without loss", "every trial with at most 1 % loss".
func (g Goal) String() string {
	what := "without loss"
	if g.LossRatio > 0 {
		what = fmt.Sprintf("with at most %g %% loss", 100*g.LossRatio)
	}
	switch g.ExceedRatio {
	case 0:
		return "every trial " + what
	case 0.5:
		return "median trial " + what
	}
	return fmt.Sprintf("%g %% of trial time %s", 100*(1-g.ExceedRatio), what)
}

// LossyShare says in how many trials at the lower bound more was lost than the goal
// allows, and up to what share of trials that may be so in truth: "0 of 21 trials
// (< 13 % of trials)". It is empty without a lower bound.
func (o Outcome) LossyShare() string {
	if o.LossyUpper == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d trials (< %.0f %% of trials)", o.Lossy, o.Trials, 100**o.LossyUpper)
}
