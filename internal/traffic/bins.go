package traffic

import "time"

// never is later than the end of any trial.
const never = time.Duration(1<<63 - 1)

// BinCounter counts what one connection transferred: in total, in the timed window, and in each
// interval of the window. It is allocated before the trial.
type BinCounter struct {
	Warmup, End time.Duration // ends of the warm-up and of the timed window, since the start
	Total       int64
	Window      int64   // of Total, in the timed window
	Bins        []int64 // of Window, by SeriesInterval
	// Parts is what a slice transferred in each of ProfileParts equal parts of its time, the uncounted part
	// included. It is nil for a transfer that is no slice.
	Parts []int64

	gauge      *Gauge        // read for progress; nil if progress is not requested
	nextUpdate time.Duration // time of the next update
	part       time.Duration // length of one of Parts
}

// NewBinCounter returns a counter for a transfer with the warm-up and duration of p.
func NewBinCounter(p Params) *BinCounter {
	n := int((p.Duration + SeriesInterval - 1) / SeriesInterval)
	b := &BinCounter{Warmup: p.Warmup, End: p.Warmup + p.Duration, Bins: make([]int64, n), nextUpdate: never}
	if p.Slice > 0 && p.Duration > 0 {
		b.Parts, b.part = make([]int64, ProfileParts), max(1, b.End/ProfileParts)
	}
	return b
}

// ReportTo makes the counter update the i-th gauge.
func (b *BinCounter) ReportTo(gauges []Gauge, i int) *BinCounter {
	if i < len(gauges) {
		b.gauge, b.nextUpdate = &gauges[i], 0
	}
	return b
}

// Add counts n at the time at, measured from the start of the transfer.
func (b *BinCounter) Add(at time.Duration, n int64) {
	b.Total += n
	if at >= b.nextUpdate {
		b.gauge.Set(b.Total, at)
		b.nextUpdate = at + GaugeInterval
	}
	if b.part > 0 {
		if i := int(at / b.part); i < len(b.Parts) {
			b.Parts[i] += n
		}
	}
	if at < b.Warmup || at >= b.End {
		return
	}
	b.Window += n
	b.Bins[(at-b.Warmup)/SeriesInterval] += n
}

// Series returns the sum of the bins of several counters as rates per second.
func Series(p Params, counters []*BinCounter) []float64 {
	out := make([]float64, len(counters[0].Bins))
	for i := range out {
		length := min(SeriesInterval, p.Duration-time.Duration(i)*SeriesInterval)
		for _, b := range counters {
			out[i] += float64(b.Bins[i])
		}
		out[i] /= length.Seconds()
	}
	return out
}
