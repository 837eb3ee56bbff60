package verdict

import (
	"tare/internal/result"
)

// boundVerdict replaces a verdict that a lower bound does not support with cannot_tell, for a
// comparison of more than two values or with an expected ratio. If the ratio may only be
// higher than measured, a verdict that it is high remains; if it may only be lower, one
// that it is low. More blocks would not help.
func boundVerdict(c *result.Judgement, better result.Direction, mayRise, mayFall bool) {
	high, low := result.Better, result.Worse
	if better == result.Lower {
		high, low = result.Worse, result.Better
	}
	if c.Verdict == "" || !mayRise && !mayFall || !mayFall && c.Verdict == high || !mayRise && c.Verdict == low {
		return
	}
	c.Verdict, c.BlocksNeeded = result.CannotTell, nil
}

// levelVerdict replaces a verdict that a lower bound does not support with cannot_tell, for
// two values of the same sender. That they are the same may be the sender's limit. That they
// differ is not: the sender reached more on the other path, so this path's cost, in its
// calls or on its CPU, limits it here, and a faster sender would show a larger difference.
func levelVerdict(c *result.Judgement, limited bool) {
	if limited && (c.Verdict == result.Same || c.Verdict == result.Small || c.Verdict == result.CannotTell) {
		c.Verdict, c.BlocksNeeded = result.CannotTell, nil
	}
}
