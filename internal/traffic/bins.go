package traffic

import "time"

// never is a moment that no trial comes to.
const never = time.Duration(1<<63 - 1)

// BinCounter keeps what one connection did, cut into the warm-up, the intervals of the
// timed window and what came behind it. It is made before the trial and then
// only counts.
type BinCounter struct {
	Warmup, End time.Duration // of the warm-up and of the timed window, since the start
	Total       int64
	Window      int64   // of Total, in the timed window
	Bins        []int64 // of Window, by SeriesInterval

	gauge      *Gauge        // who watches reads it; nil where nobody does
	nextUpdate time.Duration // when it is set next
}

// NewBinCounter is one for a transfer of p's warm-up and duration.
func NewBinCounter(p Params) *BinCounter {
	n := int((p.Duration + SeriesInterval - 1) / SeriesInterval)
	return &BinCounter{Warmup: p.Warmup, End: p.Warmup + p.Duration, Bins: make([]int64, n), nextUpdate: never}
}

// ReportTo makes a counter show how far it is by the i-th of the gauges that a meter gave.
func (b *BinCounter) ReportTo(gauges []Gauge, i int) *BinCounter {
	if i < len(gauges) {
		b.gauge, b.nextUpdate = &gauges[i], 0
	}
	return b
}

// Add counts n at the time at since the transfer's start.
func (b *BinCounter) Add(at time.Duration, n int64) {
	b.Total += n
	if at >= b.nextUpdate {
		b.gauge.Set(b.Total, at)
		b.nextUpdate = at + GaugeInterval
	}
	if at < b.Warmup || at >= b.End {
		return
	}
	b.Window += n
	b.Bins[(at-b.Warmup)/SeriesInterval] += n
}

// Series sums the bins of several counters as rates per second.
func Series(p Params, counters []*BinCounter) []float64 {
	out := make([]float64, len(counters[0].Bins))
	for i := range out {
		long := min(SeriesInterval, p.Duration-time.Duration(i)*SeriesInterval)
		for _, b := range counters {
			out[i] += float64(b.Bins[i])
		}
		out[i] /= long.Seconds()
	}
	return out
}
