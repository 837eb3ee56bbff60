package socket

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32    = windows.NewLazySystemDLL("kernel32.dll")
	createTimer = kernel32.NewProc("CreateWaitableTimerExW")
	setTimer    = kernel32.NewProc("SetWaitableTimer")
)

const (
	highResolution = 2        // CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, since Windows 10 1803
	timerAccess    = 0x1f0003 // TIMER_ALL_ACCESS
)

// waitTimer is a timer that is more precise than the timeout of a wait, which ends with the system's
// tick. The zero handle means that there is none; waits are then as precise as the tick.
type waitTimer struct{ handle windows.Handle }

// newWaitTimer creates a timer. It is closed when it is no longer used.
func newWaitTimer() *waitTimer {
	t := &waitTimer{}
	for _, flags := range []uintptr{highResolution, 0} {
		if h, _, _ := syscall.SyscallN(createTimer.Addr(), 0, 0, flags, timerAccess); h != 0 {
			t.handle = windows.Handle(h)
			break
		}
	}
	runtime.AddCleanup(t, func(h windows.Handle) {
		if h != 0 {
			_ = windows.CloseHandle(h)
		}
	}, t.handle)
	return t
}

// set starts the timer. Its due time is relative if it is negative, and in units of 100 ns.
func (t *waitTimer) set(d time.Duration) bool {
	if t.handle == 0 {
		return false
	}
	due := min(-int64(d/100), -1)
	ok, _, _ := syscall.SyscallN(setTimer.Addr(), uintptr(t.handle), uintptr(unsafe.Pointer(&due)), 0, 0, 0, 0)
	return ok != 0
}

// sleep sleeps for d.
func (t *waitTimer) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	if !t.set(d) {
		time.Sleep(d)
		return
	}
	_, _ = windows.WaitForSingleObject(t.handle, windows.INFINITE)
}

// wait waits for an event, for at most d.
func (t *waitTimer) wait(event windows.Handle, d time.Duration) (bool, error) {
	if d <= 0 {
		return signalled(windows.WaitForSingleObject(event, 0))
	}
	if !t.set(d) {
		return signalled(windows.WaitForSingleObject(event, uint32(d.Milliseconds())))
	}
	got, err := windows.WaitForMultipleObjects([]windows.Handle{event, t.handle}, false, windows.INFINITE)
	if err == nil && got != windows.WAIT_OBJECT_0 {
		return false, nil
	}
	return signalled(got, err)
}

// Sleeper sleeps with a timer of high resolution where the system has one.
func (Winsock) Sleeper() func(time.Duration) { return newWaitTimer().sleep }
