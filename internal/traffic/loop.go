package traffic

import "time"

// LoopCounter counts the exchanges of flows that each begin one when the one before has ended, in a
// timed window. It counts those that begin in the window, and their whole time: a flow's time lasts
// from the first one's begin to the last one's end. An exchange that waits for a retransmission is
// longer than a slice; a window that cut it off would count those that lost nothing only.
type LoopCounter struct {
	*BinCounter
	Flows int   // that share the window; 0 if it is that of a schedule
	Count int64 // exchanges that succeeded and began in the window
	// Failed are those that began in the window and had no answer.
	Failed int64

	over time.Duration // by how much the flows' times are longer than the window, in all
}

// Add counts an exchange that began at from and ended at at, and reports whether it began in the
// window. The window of a single flow opens when an exchange of its warm-up has ended: else it would
// have no time left behind a long one.
func (c *LoopCounter) Add(from, at time.Duration, ok bool) bool {
	if from < c.Warmup && at > c.Warmup && c.Flows == 1 && c.End > c.Warmup {
		c.Warmup, c.End = at, c.End+at-c.Warmup
	}
	if ok {
		c.BinCounter.Add(at, 1)
	}
	in := from >= c.Warmup && from < c.End
	switch {
	case in:
		c.over += max(0, at-c.End)
	case from < c.Warmup && at > c.Warmup:
		c.over -= min(at, c.End) - c.Warmup
	}
	if in && ok {
		c.Count++
	} else if in {
		c.Failed++
	}
	return in
}

// Time returns the mean time of the flows; of a schedule, that of the window.
func (c *LoopCounter) Time() time.Duration {
	long := c.End - c.Warmup
	if c.Flows > 0 {
		long = max(0, long+c.over/time.Duration(c.Flows))
	}
	return long
}

// Counted returns the exchanges of the window: those that began in it or, of a schedule, those that
// ended in it.
func (c *LoopCounter) Counted() int64 {
	if c.Flows > 0 {
		return c.Count
	}
	return c.Window
}
