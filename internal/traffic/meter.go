package traffic

import (
	"sync"
	"sync/atomic"
	"time"
)

// Progress is how far one end of a trial has come.
type Progress struct {
	// Count is payload bytes received by a workload of bulk transfer, else exchanges or
	// connections completed; the warm-up is in it.
	Count int64 `json:"count"`
	// Busy is for how long the traffic has flowed that Count is of. The turns of other
	// trials are not in it, so that the two make a rate.
	Busy time.Duration `json:"busy"`
}

// MinProgressInterval is the least time between two messages of one end's progress.
const MinProgressInterval = 500 * time.Millisecond

// Meter is where the end that counts shows what it has counted while it goes on. Who
// counts puts numbers there once in showEvery, and who reads takes no lock that a
// thread with traffic ever waits for. A nil Meter shows nothing, at the cost of one
// comparison.
type Meter struct {
	mu     sync.Mutex // of what follows; taken between transfers, and by who reads
	ended  Progress   // of the transfers before
	gauges []Gauge    // of the transfer under way, one for each that counts
}

// Gauge is where one that counts shows its number.
type Gauge struct {
	count, at atomic.Int64
}

// GaugeInterval is how old what a meter shows may be.
const GaugeInterval = time.Millisecond

// Begin gives n who count together a gauge each, in place of those of the transfer
// before. It gives none where nobody reads.
func (m *Meter) Begin(n int) []Gauge {
	if m == nil || n == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = m.total()
	m.gauges = make([]Gauge, n)
	return m.gauges
}

// Read tells how far the trial is, and whether this end counts at all.
func (m *Meter) Read() (p Progress, counts bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total(), m.gauges != nil
}

// total is what has ended and what is under way; of several, the longest.
func (m *Meter) total() Progress {
	p := m.ended
	var longest time.Duration
	for i := range m.gauges {
		p.Count += m.gauges[i].count.Load()
		longest = max(longest, time.Duration(m.gauges[i].at.Load()))
	}
	p.Busy += longest
	return p
}

// Set puts a reading there.
func (g *Gauge) Set(count int64, at time.Duration) {
	g.count.Store(count)
	g.at.Store(int64(at))
}

// Rate is how much a second came between two readings, in the unit of Count; ok is
// false where no time passed, or a trial began anew.
func (p Progress) Rate(before Progress) (rate float64, ok bool) {
	if p.Busy <= before.Busy || p.Count < before.Count {
		return 0, false
	}
	return float64(p.Count-before.Count) / (p.Busy - before.Busy).Seconds(), true
}
