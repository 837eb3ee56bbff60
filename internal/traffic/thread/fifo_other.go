//go:build !linux

package thread

import "errors"

func setFIFO() error {
	return errors.New("scheduling fifo: this system has no SCHED_FIFO for one thread; remove scheduling")
}

// canYield reports whether Yield works here.
const canYield = false

// Yield does nothing on this system.
func Yield() {}
