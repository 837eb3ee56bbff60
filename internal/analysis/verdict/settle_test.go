package verdict

import (
	"fmt"
	"testing"

	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/testkit/must"
)

func TestSettle(t *testing.T) {
	cell := func(change func(*result.Cell)) result.Cell {
		c := result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, Margin: 0.05, Ratio: new(1.0), RatioCI: &result.Interval{1 / 1.1025, 1.1025}}, N: 10} // w = 2 ln 1.05
		change(&c)
		return c
	}
	for _, c := range []struct {
		name           string
		cell           result.Cell
		bounded, noisy bool
		by             Settling
		blocks         int
	}{
		{"from the interval", cell(func(*result.Cell) {}), false, false, SettleBlocks, 14}, // by hand: t(.95, 23) s / sqrt 24 < ln 1.05, and not with 23
		{"the run's own forecast", cell(func(c *result.Cell) { c.BlocksNeeded = new(7) }), false, false, SettleBlocks, 7},
		{"more than is worth saying", cell(func(c *result.Cell) { c.RatioCI = &result.Interval{0.1, 10} }), false, false, SettleBlocks, stats.MaxBlocksNeeded},
		{"one block", cell(func(c *result.Cell) { c.N, c.RatioCI = 1, nil }), false, false, SettleBlocks, 0},
		{"a lower bound", cell(func(c *result.Cell) { c.AtLeast = true }), false, false, SettleGenerator, 0},
		{"a baseline that is one", cell(func(*result.Cell) {}), true, false, SettleGenerator, 0},
		{"a noisy run", cell(func(*result.Cell) {}), false, true, SettleQuiet, 0},
		{"a value of 0", cell(func(c *result.Cell) { c.Ratio, c.RatioCI = nil, nil }), false, false, SettleNever, 0},
		{"another verdict", cell(func(c *result.Cell) { c.Verdict = result.Same }), false, false, SettleNone, 0},
	} {
		by, blocks := Settle(c.cell, c.bounded, c.noisy)
		must.True(t, by == c.by && blocks == c.blocks, "%s: %q, %d blocks; want %q, %d", c.name, by, blocks, c.by, c.blocks)
	}
}

// An estimate from the interval of a pair is the forecast of its own blocks, and four
// times the spread takes about sixteen times the blocks, fewer by what the t quantile loses.
func TestSettleAsForecast(t *testing.T) {
	estimate := func(sd, df float64) int {
		l := stats.LogRatio{N: 8, SD: sd, DF: df}
		lo, hi, _ := l.Interval(0.95)
		_, got := Settle(result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, Margin: 0.05, Ratio: new(l.Ratio()), RatioCI: &result.Interval{lo, hi}, DF: df}, N: l.N}, false, false)
		must.EqualFor(t, fmt.Sprintf("sd %g, %g degrees of freedom", sd, df), stats.BlocksNeeded([]stats.LogRatio{l}, 0.05)[0], got)
		return l.N + got
	}
	n, four := estimate(0.1, 0), estimate(0.4, 0)
	must.True(t, four >= 12*n && four <= 16*n, "%d blocks, and %d with four times the spread", n, four)
	estimate(0.1, 3) // an interval of set-ups
}
