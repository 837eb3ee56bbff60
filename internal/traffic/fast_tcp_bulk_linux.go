package traffic

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spareProcs is how many processors of the Go scheduler a trial leaves to the
// rest of the process.
const spareProcs = 3

// bulk gives the raw way to an end of few threads: a thread in a raw call keeps
// its processor, and the others of the process would have none.
func bulk(s stream, threads int) threadStream {
	fast := fastStream(s.fd())
	if runtime.GOMAXPROCS(0)-threads < spareProcs {
		return fast
	}
	return rawStream{fast}
}

// rawStream goes round the Go scheduler's entry and exit of a system call. The
// socket's time-out bounds how long the runtime can be kept waiting for this
// thread.
type rawStream struct{ fastStream }

func (s rawStream) read(b []byte) (int, error)  { return raw(unix.SYS_RECVFROM, int(s.fastStream), b) }
func (s rawStream) write(b []byte) (int, error) { return raw(unix.SYS_SENDTO, int(s.fastStream), b) }

func (s rawStream) pause(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	// An interrupted sleep is a shorter one.
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}

func (s fastStream) pause(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
}

func (s rawStream) yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

func (s fastStream) yield() { _, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
