package main

import (
	"context"
	"fmt"
	"time"
)

// The search for the highest rate that arrives.
const (
	lossAllowed = 0.01
	searchSteps = 8    // halvings of the range: what they leave open is 0.4 % of the first
	searchShare = 0.97 // of the found rate, at which the pairs then run: the machine wavers
	stepsDown   = 6    // how often one run of a pair is repeated that lost too much
	stepDown    = 0.93 // each time at this share of what was offered before
)

// search finds the payload rate in bit/s at which a generator loses less than
// lossAllowed, the same way for all: as fast as it goes first, and if too much of
// that is lost, the range up to what it sent then is halved again and again. Too
// much is what is lost twice: once can be the machine's doing. 0 is as fast as it
// goes.
func search(ctx context.Context, try func(ctx context.Context, rate float64) (carried, error)) (float64, error) {
	twice := func(rate float64) (carried, error) {
		c, err := try(ctx, rate)
		if err != nil || c.loss() < lossAllowed {
			return c, err
		}
		return try(ctx, rate)
	}
	c, err := twice(0)
	if err != nil || c.loss() < lossAllowed {
		return 0, err
	}
	low, high := 0.0, c.offered()
	for range searchSteps {
		middle := (low + high) / 2
		if c, err = twice(middle); err != nil {
			return 0, err
		}
		if c.loss() < lossAllowed {
			low = middle
		} else {
			high = middle
		}
	}
	if low == 0 {
		return 0, fmt.Errorf("even at %.3g Mbit/s more than %.0f %% of the datagrams are lost", high/1e6, 100*lossAllowed)
	}
	return searchShare * low, nil
}

// fastest searches for a generator's rate on the stand.
func (s *stand) fastest(ctx context.Context, g carrier, at placed, l load) (float64, error) {
	l.long = time.Second
	return search(ctx, func(ctx context.Context, rate float64) (carried, error) {
		l.rate = rate
		return stubborn(ctx, g.name, func(ctx context.Context) (carried, error) { return g.run(ctx, s, at, l) })
	})
}

// arriving runs a generator at a rate, and while it loses too much again at a
// lower one, so that what it carries is what can be carried. The next run begins
// at the found rate again. The last one counts in any case: its loss is shown.
func (s *stand) arriving(ctx context.Context, g carrier, at placed, l load) (carried, error) {
	for step := 0; ; step++ {
		c, err := g.run(ctx, s, at, l)
		if err != nil || c.loss() < lossAllowed || step == stepsDown {
			return c, err
		}
		l.rate = stepDown * c.offered()
	}
}
