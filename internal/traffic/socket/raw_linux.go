package socket

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Send sends, and waits for at most the socket's timeout. The calls of this file bypass the Go
// scheduler's system call entry. The socket's timeout bounds how long the runtime may have to wait for
// the thread.
func Send(fd int, b []byte) (int, error) {
	return rawFlags(unix.SYS_SENDTO, fd, b, unix.MSG_NOSIGNAL)
}

// Recv receives, and waits for at most the socket's timeout. It returns 0 when the peer has closed
// its direction.
func Recv(fd int, b []byte) (int, error) { return rawFlags(unix.SYS_RECVFROM, fd, b, 0) }

func rawFlags(call uintptr, fd int, b []byte, flags uintptr) (int, error) {
	n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), flags, 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EAGAIN, unix.EINTR:
		return 0, ErrAgain
	}
	return 0, errno
}

// SendNow never waits: it returns ErrAgain instead.
func SendNow(fd int, b []byte) (int, error) {
	return rawFlags(unix.SYS_SENDTO, fd, b, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
}

// RecvNow never waits: it returns ErrAgain instead.
func RecvNow(fd int, b []byte) (int, error) {
	return rawFlags(unix.SYS_RECVFROM, fd, b, unix.MSG_DONTWAIT)
}

// setNow is setsockopt without the Go scheduler's system call entry.
func setNow(fd, level, option int, value unsafe.Pointer, length int) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), uintptr(level), uintptr(option), uintptr(value), uintptr(length), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// CloseNow is close without the Go scheduler's system call entry.
func CloseNow(fd int) { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// PollEdge requests edge-triggered events for both directions. The loops read and write until a
// call would block, so no event is missed.
const PollEdge = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

// Poller is an epoll instance. Its calls bypass the Go scheduler.
type Poller struct {
	fd     int
	events [128]unix.EpollEvent
}

// NewPoller opens a Poller that watches no descriptor.
func NewPoller() (*Poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open epoll: %w", err)
	}
	return &Poller{fd: fd}, nil
}

// Close closes the Poller. The sockets stay open.
func (p *Poller) Close() { unix.Close(p.fd) }

// Add watches fd; its events have id.
func (p *Poller) Add(fd, id int, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(id)}
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p.fd), unix.EPOLL_CTL_ADD, uintptr(fd), uintptr(unsafe.Pointer(&ev)), 0, 0)
	if errno != 0 {
		return fmt.Errorf("watch socket: %w", errno)
	}
	return nil
}

// Wait waits for events, for at most d, and returns none if interrupted. A negative d is no limit.
func (p *Poller) Wait(d time.Duration) ([]unix.EpollEvent, error) {
	// The millisecond timeout of epoll_wait is too coarse for a schedule, so ppoll waits on the
	// epoll descriptor.
	if fine := d % time.Millisecond; fine > 0 {
		if ready, err := PollFD(p.fd, unix.POLLIN, d); !ready || err != nil {
			return nil, err
		}
		d = 0
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(milliseconds(d)), 0, 0)
	switch errno {
	case 0:
		return p.events[:n], nil
	case unix.EINTR:
		return nil, nil
	}
	return nil, fmt.Errorf("wait for sockets: %w", errno)
}

// milliseconds is a timeout of epoll_wait, in whole milliseconds; -1 is none.
func milliseconds(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

// PollFD waits for one descriptor, for at most d. A negative d is no limit.
func PollFD(fd int, events int16, d time.Duration) (ready bool, err error) {
	p := unix.PollFd{Fd: int32(fd), Events: events}
	var limit *unix.Timespec
	if d >= 0 {
		limit = new(unix.NsecToTimespec(int64(d)))
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	switch errno {
	case 0:
		return n > 0, nil
	case unix.EINTR:
		return false, nil
	}
	return false, fmt.Errorf("wait for socket: %w", errno)
}

// SleepUntil sleeps until a time of CLOCK_MONOTONIC, or shorter.
func SleepUntil(ns int64) {
	ts := unix.NsecToTimespec(ns)
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// Sleep sleeps for d, or shorter.
func Sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}
