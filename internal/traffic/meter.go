package traffic

import (
	"sync"
	"sync/atomic"
	"time"
)

// Progress is the progress of a trial at one endpoint.
type Progress struct {
	// Count is payload bytes received for bulk transfers, else completed exchanges or connections.
	// It includes the warm-up.
	Count int64 `json:"count"`
	// Busy is the time during which the traffic of Count flowed. It excludes slices of other modes,
	// so Count and Busy give a rate.
	Busy time.Duration `json:"busy"`
}

// MinProgressInterval is the shortest time between two progress messages of one endpoint.
const MinProgressInterval = 500 * time.Millisecond

// Meter shows the counts of a transfer while it runs. A counting thread updates its gauge once per
// GaugeInterval; a reader takes no lock that such a thread waits for. A nil Meter shows nothing and
// costs one comparison.
type Meter struct {
	mu     sync.Mutex // guards the fields below; locked between transfers and by readers
	ended  Progress   // sum of the earlier transfers
	gauges []Gauge    // of the current transfer, one per counting thread
}

// Gauge is the current count of one counting thread.
type Gauge struct {
	count, at atomic.Int64
}

// GaugeInterval is the longest age of a value that a meter shows.
const GaugeInterval = time.Millisecond

// Begin returns n gauges for the threads of a new transfer, which replace those of the previous
// transfer. It returns none if the meter is nil.
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

// Read returns the progress of the trial, and whether this endpoint counts at all.
func (m *Meter) Read() (p Progress, counts bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total(), m.gauges != nil
}

// total returns the progress of past and current transfers. Of simultaneous gauges it takes the
// longest time.
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

// Set stores a reading.
func (g *Gauge) Set(count int64, at time.Duration) {
	g.count.Store(count)
	g.at.Store(int64(at))
}

// Rate returns the rate per second between two readings, in the unit of Count. ok is false if no
// time passed, or if a trial restarted.
func (p Progress) Rate(before Progress) (rate float64, ok bool) {
	if p.Busy <= before.Busy || p.Count < before.Count {
		return 0, false
	}
	return float64(p.Count-before.Count) / (p.Busy - before.Busy).Seconds(), true
}
