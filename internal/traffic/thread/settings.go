package thread

import (
	"errors"
	"runtime"
)

// Settings are how the threads of an endpoint run.
type Settings struct {
	CPU  int  // to pin to, negative for none
	FIFO bool // real-time priority, SCHED_FIFO: they run before everything that has none
	Spin bool // they poll the clock for their next send, and yield in between
}

// Run is the function of that name, with these settings.
func (s Settings) Run(n int, fn func(i int) error) error {
	return RunGoroutines(n, func(i int) error {
		runtime.LockOSThread()
		if err := Pin(s.CPU); err != nil {
			return err
		}
		if s.FIFO {
			if err := setFIFO(); err != nil {
				return err
			}
		}
		return fn(i)
	})
}

var (
	errSpin     = errors.New("wait spin: supported on Linux only; remove wait")
	errSpinFIFO = errors.New("wait spin with scheduling fifo: such a thread never leaves its CPU to the other endpoint, until the kernel stops it; remove one of them")
)

// Check returns an error if this process may not run threads with these settings. It tells that before a
// trial begins at one of its endpoints.
func (s Settings) Check() error {
	switch {
	case s.Spin && s.FIFO:
		return errSpinFIFO
	case s.Spin && !canYield:
		return errSpin
	case s.FIFO:
		return s.Run(1, func(int) error { return nil })
	}
	return nil
}
