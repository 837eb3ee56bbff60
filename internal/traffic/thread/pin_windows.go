package thread

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/windows"
)

var setThreadAffinity = windows.NewLazySystemDLL("kernel32.dll").NewProc("SetThreadAffinityMask")

// groupCPUs is how many CPUs one processor group has at most. A thread is pinned within its own.
const groupCPUs = 64

// Pin binds the calling thread to a CPU. A negative cpu does nothing. Use it on a locked thread that
// ends with its work. Processes that the thread starts are not bound.
func Pin(cpu int) error {
	if cpu < 0 {
		return nil
	}
	if cpu >= groupCPUs {
		return fmt.Errorf("pin to CPU %d: only the first %d are supported on Windows; use placement free", cpu, groupCPUs)
	}
	// Wine accepts CPUs that the machine does not have.
	if have := windows.GetActiveProcessorCount(0); cpu >= int(have) {
		return fmt.Errorf("pin to CPU %d: the processor group has %d CPUs", cpu, have)
	}
	before, _, errno := syscall.SyscallN(setThreadAffinity.Addr(), uintptr(windows.CurrentThread()), uintptr(1)<<cpu)
	if before == 0 {
		return fmt.Errorf("pin to CPU %d: %w", cpu, errno)
	}
	return nil
}

// PinForChild always returns an error unless cpu is negative: a process does not inherit the CPU of
// the thread that starts it.
func PinForChild(cpu int) error {
	if cpu < 0 {
		return nil
	}
	return fmt.Errorf("pin another program to CPU %d: not supported on Windows; use placement free", cpu)
}
