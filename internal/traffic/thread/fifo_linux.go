package thread

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// fifoPriority is the lowest of 1 to 99: it comes before all normal threads and after those of the
// kernel's interrupts.
const fifoPriority = 1

// setFIFO gives the calling thread real-time priority. Threads and processes that it starts do not
// inherit it.
func setFIFO() error {
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: fifoPriority}
	err := unix.SchedSetAttr(0, &a, 0)
	if errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("scheduling fifo: %w: it requires CAP_SYS_NICE, and cpu.rt_runtime_us if the kernel shares out real-time per cgroup; "+
			"run as root, use modes without containers, or remove scheduling", err)
	}
	if err != nil {
		return fmt.Errorf("scheduling fifo: %w; remove scheduling", err)
	}
	return nil
}

// canYield reports whether Yield works here.
const canYield = true

// Yield lets another thread that waits for this CPU run first.
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
