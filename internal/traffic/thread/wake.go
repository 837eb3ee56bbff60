package thread

import "time"

// WakeMargin is how long before its time a thread asks to be woken, so that it is awake at that time
// and polls the clock for the rest. It follows the median of how late the kernel wakes the thread, which
// is some microseconds on a machine and tens on a virtual one, whose CPU halts meanwhile.
// Its zero value is ready. It must not be used concurrently.
type WakeMargin struct{ late time.Duration }

const (
	wakeStep  = time.Microsecond
	minMargin = 4 * time.Microsecond
	// A thread that is woken later than maxMargin waits for something else than the clock.
	maxMargin = 40 * time.Microsecond
	// marginShare bounds the CPU time for polling, as 1/marginShare of the time between two wake-ups:
	// without a bound, sends every 37 us took a third more CPU time.
	marginShare = 3
)

// Before returns the margin of a thread that waits for gap at most.
func (m *WakeMargin) Before(gap time.Duration) time.Duration {
	return max(min(m.late, gap/marginShare), minMargin)
}

// Woken takes note of how late a wake-up was. A pause of any length moves the margin by no more than
// another does.
func (m *WakeMargin) Woken(late time.Duration) {
	if late > m.late {
		m.late = min(m.late+wakeStep, maxMargin)
	} else {
		m.late = max(m.late-wakeStep, 0)
	}
}
