package thread

import (
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// Of two threads that need the same CPU at the same time, at least one waits for it.
func TestCPUWait(t *testing.T) {
	var waits [2]CPUWait
	must.True(t, waits[0].Seconds() == nil, "a wait was known before anything was measured")
	end := time.Now().Add(100 * time.Millisecond)
	must.Do(t, Run(len(waits), 0, func(i int) error {
		return waits[i].Measure(func() error {
			for time.Now().Before(end) { //nolint:revive // it keeps the CPU busy
			}
			return nil
		})
	}))
	first, second := waits[0].Seconds(), waits[1].Seconds()
	must.True(t, first != nil && second != nil && *first >= 0 && *second >= 0 && *first+*second > 0, "waited %v and %v", first, second)
}
