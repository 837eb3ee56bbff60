package traffic

import "time"

// book keeps what one connection did, cut into the warm-up, the intervals of the
// timed window and what came behind it. It is made before the trial and then
// only counts.
type book struct {
	warmup, end time.Duration
	total       int64
	window      int64
	slots       []int64

	hand   *hand         // who watches reads it; nil where nobody does
	showAt time.Duration // when it is set next
}

func newBook(p Params) *book {
	n := int((p.Duration + SeriesInterval - 1) / SeriesInterval)
	return &book{warmup: p.Warmup, end: p.Warmup + p.Duration, slots: make([]int64, n), showAt: never}
}

// shown makes a book show how far it is by the i-th of the hands that a meter gave.
func (b *book) shown(hands []hand, i int) *book {
	if i < len(hands) {
		b.hand, b.showAt = &hands[i], 0
	}
	return b
}

// add books n at the time at since the transfer's start.
func (b *book) add(at time.Duration, n int64) {
	b.total += n
	if at >= b.showAt {
		b.hand.show(b.total, at)
		b.showAt = at + showEvery
	}
	if at < b.warmup || at >= b.end {
		return
	}
	b.window += n
	b.slots[(at-b.warmup)/SeriesInterval] += n
}

// series sums the intervals of several books as rates per second.
func series(p Params, books []*book) []float64 {
	out := make([]float64, len(books[0].slots))
	for i := range out {
		long := min(SeriesInterval, p.Duration-time.Duration(i)*SeriesInterval)
		for _, b := range books {
			out[i] += float64(b.slots[i])
		}
		out[i] /= long.Seconds()
	}
	return out
}
