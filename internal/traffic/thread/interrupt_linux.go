package thread

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// interruptSignal is a real-time signal that nothing else uses. The Go runtime's handler for it does nothing.
const interruptSignal = 63

// Constants and structures of the kernel that x/sys/unix does not have. The structures are those of amd64 and arm64.
const (
	saRestart     = 0x10000000
	sigevThreadID = 4
	sigsetBytes   = 8
)

type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

type sigevent struct {
	value          uintptr
	signal, notify int32
	thread         int32
	_              [11]int32
}

type itimerspec struct{ interval, value unix.Timespec }

// Interrupt ends each wait of the calling thread in a system call after at most every, and again as often: the call returns EINTR.
// A timeout of the call or of its socket does the same, but the kernel then starts and stops a timer in each call that waits.
// An error means that nothing interrupts it here. The thread is locked, and stop is called on any thread, once.
func Interrupt(every time.Duration) (stop func(), err error) {
	if err := interruptible(); err != nil {
		return nil, err
	}
	var blocked uint64
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, 0, 0, uintptr(unsafe.Pointer(&blocked)), sigsetBytes, 0, 0); errno != 0 {
		return nil, fmt.Errorf("signals of this thread: %w", errno)
	}
	if blocked&(1<<(interruptSignal-1)) != 0 { // by who started this program
		return nil, fmt.Errorf("signal %d is blocked: %w", interruptSignal, errors.ErrUnsupported)
	}
	var id int32
	event := sigevent{signal: interruptSignal, notify: sigevThreadID, thread: int32(unix.Gettid())}
	if _, _, errno := unix.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&id))); errno != 0 {
		return nil, fmt.Errorf("create timer: %w", errno)
	}
	stop = func() { _, _, _ = unix.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(id), 0, 0) }
	at := unix.NsecToTimespec(int64(every))
	if _, _, errno := unix.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(id), 0, uintptr(unsafe.Pointer(&itimerspec{at, at})), 0, 0, 0); errno != 0 {
		stop()
		return nil, fmt.Errorf("start timer: %w", errno)
	}
	return stop, nil
}

// interruptible makes the signal interrupt system calls instead of restarting them, once for the process.
var interruptible = sync.OnceValue(func() error { //nolint:gochecknoglobals // the action of a signal is that of the process
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return errors.ErrUnsupported
	}
	var action sigaction
	if err := signalAction(nil, &action); err != nil {
		return err
	}
	if action.handler <= 1 { // the default, which ends the process, or none
		return errors.ErrUnsupported
	}
	action.flags &^= saRestart
	return signalAction(&action, nil)
})

func signalAction(to, from *sigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, interruptSignal, uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(from)), sigsetBytes, 0, 0)
	if errno != 0 {
		return fmt.Errorf("action of signal %d: %w", interruptSignal, errno)
	}
	return nil
}
