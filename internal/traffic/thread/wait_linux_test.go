package thread

import (
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// Of two threads that need the same CPU at the same time, at least one waits for it.
func TestCPUWait(t *testing.T) {
	var waits [2]CPUWait
	must.True(t, waits[0].Seconds() == nil, "a wait was known before anything was measured")
	var begun, end atomic.Int64 // how many have begun, and when both may stop
	must.Do(t, Run(len(waits), 0, func(i int) error {
		return waits[i].Measure(func() error {
			if begun.Add(1) == int64(len(waits)) {
				end.Store(time.Now().Add(100 * time.Millisecond).UnixNano())
			}
			for at := int64(0); at == 0 || time.Now().UnixNano() < at; at = end.Load() { //nolint:revive // it keeps the CPU busy
			}
			return nil
		})
	}))
	var sum float64
	for _, w := range waits {
		waited := w.Seconds()
		must.Require(t, waited != nil && *waited >= 0, "the wait of a thread is unknown")
		sum += *waited
	}
	must.True(t, sum > 0, "neither waited")
}
