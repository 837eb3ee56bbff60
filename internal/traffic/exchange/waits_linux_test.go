package exchange

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
	"tare/internal/traffic/socket"
)

// A call that receives from a silent peer ends again and again, on a thread that is interrupted, without a timeout of the socket; and on
// one that cannot be, with one. Afterwards the socket has the timeout of all others.
func TestWaits(t *testing.T) {
	for name, block := range map[string]bool{"interrupted": false, "with timeouts": true} {
		t.Run(name, func(t *testing.T) {
			pair := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0))(t)
			defer unix.Close(pair[0])
			defer unix.Close(pair[1])
			done := make(chan error, 1)
			go func() { done <- wait(pair[0], block) }()
			must.Do(t, <-done)
		})
	}
}

// wait ends with its thread.
func wait(fd int, block bool) error {
	runtime.LockOSThread()
	if block {
		all := ^uint64(0)
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_BLOCK, uintptr(unsafe.Pointer(&all)), 0, unsafe.Sizeof(all), 0, 0); errno != 0 {
			return errno
		}
	}
	const bound = 20 * time.Millisecond
	w := BoundWaits(bound)
	release, err := w.Of(fd)
	if err != nil {
		return err
	}
	want := time.Duration(0) // none
	if block {
		want = bound
	}
	if err := hasTimeout(fd, want); err != nil {
		return err
	}
	for range 2 {
		if n, err := socket.Recv(fd, make([]byte, 1)); err != socket.ErrAgain { //nolint:errorlint // returned unwrapped
			return fmt.Errorf("received %d bytes, %w", n, err)
		}
	}
	release()
	w.End()
	return hasTimeout(fd, socket.PollTimeout)
}

func hasTimeout(fd int, want time.Duration) error {
	tv, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO)
	if got := time.Duration(tv.Nano()); err == nil && got.Round(10*time.Millisecond) != want {
		return fmt.Errorf("the socket's timeout is %s, not %s", got, want)
	}
	return err
}
