package thread

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

// A read of an empty pipe, which has no timeout, ends again and again.
func TestInterrupt(t *testing.T) {
	var pipe [2]int
	must.Do(t, unix.Pipe(pipe[:]))
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	done := make(chan error, 1)
	go func() { done <- interrupted(pipe[0]) }()
	must.Do(t, <-done)
}

// interrupted ends with its thread.
func interrupted(fd int) error {
	runtime.LockOSThread()
	stop, err := Interrupt(time.Millisecond)
	if err != nil {
		return err
	}
	defer stop()
	b := make([]byte, 1)
	for range 3 {
		if _, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1); errno != unix.EINTR {
			return fmt.Errorf("read: %w instead of EINTR", errno)
		}
	}
	return nil
}
