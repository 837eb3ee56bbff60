package plan

import (
	"slices"
	"time"

	"tare/internal/study/quantity"
)

// whole is a workload that a mode has in one piece from a block on, because its path holds more data than a
// slice carries.
type whole struct {
	from                 int
	mode, workload       string
	held, warmup, window time.Duration
}

// MeasureWhole makes the trials of a mode with a workload run in one piece from the block of t on, with the
// lengths of t, which InOnePiece has made.
func (p *Plan) MeasureWhole(t Trial) {
	p.whole = append(slices.Clip(p.whole), whole{t.Block, t.Mode, t.Workload.ID, t.Held, t.Workload.Warmup.Std(), t.Workload.Duration.Std()})
}

// InOnePiece is a trial as MeasureWhole has decided for its mode.
func (p Plan) InOnePiece(t Trial) Trial {
	for _, w := range slices.Backward(p.whole) {
		if w.mode == t.Mode && w.workload == t.Workload.ID && w.from <= t.Block {
			return t.InOnePiece(w.held, w.warmup, w.window)
		}
	}
	return t
}

// InOnePiece is a trial without slices, with another warm-up and timed window, whose path needs the time held
// for the data that it holds.
func (t Trial) InOnePiece(held, warmup, window time.Duration) Trial {
	t.Held, t.Workload.Warmup, t.Workload.Duration = held, quantity.WaitOf(warmup), quantity.Duration(window)
	return t
}

// SlicedFirst moves the trials in one piece of each block's workload behind those that are interleaved, which
// otherwise would not stay together.
func SlicedFirst(trials []Trial) {
	for len(trials) > 0 {
		n := slices.IndexFunc(trials, func(t Trial) bool {
			return t.Block != trials[0].Block || t.Workload.ID != trials[0].Workload.ID
		})
		if n < 0 {
			n = len(trials)
		}
		slices.SortStableFunc(trials[:n], func(a, b Trial) int { return btoi(a.Held > 0) - btoi(b.Held > 0) })
		trials = trials[n:]
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
