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
			return s.Outcomes(), fmt.Errorf("search for a rate: %w", err)
		}
		t, err := m.Measure(ctx, r)
		if err == nil {
			err = s.Add(t)
		}
		if err != nil {
			return s.Outcomes(), fmt.Errorf("search for a rate: trial of %g s at %.6g datagrams/s: %w", r.Duration, r.Load, err)
		}
	}
}
