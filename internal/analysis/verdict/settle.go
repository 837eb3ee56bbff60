package verdict

import (
	"tare/internal/result"
	"tare/internal/stats"
)

// Settling says what would replace the verdict [result.CannotTell] of a comparison.
type Settling string

// What settles a comparison.
const (
	SettleNone      Settling = ""          // the verdict is another one, or there is none
	SettleBlocks    Settling = "blocks"    // more blocks, as many as Settle estimates
	SettleGenerator Settling = "generator" // a generator that keeps its schedule, or a higher max_rate: the value is a lower bound
	SettleQuiet     Settling = "quiet"     // a quieter machine: too many trials were invalid
	SettleNever     Settling = "never"     // nothing: there is no ratio, because a value is 0 or no block has both
)

// Settle says what would settle a comparison that cannot tell, and for more blocks about
// how many. Bounded says that the value of the cell or of its baseline is a lower bound,
// noisy that the run has too many invalid trials. The number is that of the cell where it has one
// ([stats.BlocksNeeded]). Otherwise it is the same forecast from the 95 % interval, as if
// the cell were compared alone: the width shrinks with the square root of the number of
// blocks. Blocks is 0 where there is no interval to estimate from, as with one block, and
// at most [stats.MaxBlocksNeeded].
func Settle(c result.Cell, bounded, noisy bool) (by Settling, blocks int) {
	switch {
	case c.Verdict != result.CannotTell:
		return SettleNone, 0
	case noisy:
		return SettleQuiet, 0
	case bounded || c.AtLeast:
		return SettleGenerator, 0
	case c.Ratio == nil && c.N > 0:
		return SettleNever, 0
	case c.BlocksNeeded != nil:
		return SettleBlocks, *c.BlocksNeeded
	case c.Ratio == nil || c.RatioCI == nil:
		return SettleBlocks, 0
	}
	l, ok := stats.EffectOf(*c.Ratio, c.RatioCI[0], c.RatioCI[1], c.N, c.DF)
	if !ok {
		return SettleBlocks, 0
	}
	more := stats.BlocksNeeded([]stats.LogRatio{l}, c.Margin)[0]
	if more < 0 {
		return SettleBlocks, stats.MaxBlocksNeeded
	}
	return SettleBlocks, max(more, 1)
}
