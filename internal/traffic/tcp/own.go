package tcp

import (
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/clock"
)

// The own time is the least mean of ownBatches batches of exchanges: what other programs or the hypervisor take during one of
// them is not the generator's. All together take a few milliseconds.
const ownBatches, ownBatch = 20, 1000

// ownTime measures what the client of exchanges itself adds to each of them, in seconds: a reading of its clock and its counts,
// without a system call. It is nil for several flows, whose exchanges overlap, and for a schedule.
func ownTime(p traffic.Params) *float64 {
	if p.Streams != 1 || p.TransactionRate > 0 {
		return nil
	}
	p.Meter, p.Warmup, p.Duration = nil, 0, 10*time.Second
	w := newRRWindow(p, 0, traffic.NewDistribution(), make([]int64, 1))
	start := clock.Now()
	least, from := p.Duration, time.Duration(0)
	for range ownBatches {
		began := from
		for range ownBatch {
			at := start.Since()
			w.done(0, from, at)
			from = at
		}
		least = min(least, from-began)
	}
	own := least.Seconds() / ownBatch
	return &own
}
