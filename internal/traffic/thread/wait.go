package thread

import "time"

// CPUWait adds up how long threads were ready to run but had no CPU. Its zero value has measured
// nothing. It must not be used concurrently.
type CPUWait struct {
	total   time.Duration
	windows int
	unknown bool
}

// Measure calls fn on the calling thread, which must be locked, and adds the time that the thread
// waited for a CPU meanwhile.
func (w *CPUWait) Measure(fn func() error) error {
	before, known := waited()
	err := fn()
	after, stillKnown := waited()
	w.windows++
	w.total += after - before
	w.unknown = w.unknown || !known || !stillKnown
	return err
}

// Seconds returns the sum, or nil if it is unknown: nothing was measured, or the kernel does not
// count it.
func (w *CPUWait) Seconds() *float64 {
	if w.windows == 0 || w.unknown {
		return nil
	}
	s := w.total.Seconds()
	return &s
}
