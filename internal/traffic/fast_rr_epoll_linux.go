package traffic

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pollEdge asks for news of both directions, each told once. The loops over it
// move what they can until a call would block, so nothing is missed.
const pollEdge = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

// poller is an epoll instance. Its calls go past the Go scheduler.
type poller struct {
	fd     int
	events [128]unix.EpollEvent
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open epoll: %w", err)
	}
	return &poller{fd: fd}, nil
}

func (p *poller) close() { unix.Close(p.fd) }

// add watches fd; its events come with id.
func (p *poller) add(fd, id int, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(id)}
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p.fd), unix.EPOLL_CTL_ADD, uintptr(fd), uintptr(unsafe.Pointer(&ev)), 0, 0)
	if errno != 0 {
		return fmt.Errorf("watch socket: %w", errno)
	}
	return nil
}

// wait waits for events, at most for long, and gives none when interrupted.
func (p *poller) wait(long time.Duration) ([]unix.EpollEvent, error) {
	// In milliseconds epoll could not keep a schedule; poll on it can.
	if fine := long % time.Millisecond; fine != 0 {
		if ready, err := pollFD(p.fd, unix.POLLIN, long); !ready || err != nil {
			return nil, err
		}
		long = 0
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(long.Milliseconds()), 0, 0)
	switch errno {
	case 0:
		return p.events[:n], nil
	case unix.EINTR:
		return nil, nil
	}
	return nil, fmt.Errorf("wait for sockets: %w", errno)
}

// pollFD waits for one descriptor, at most for long.
func pollFD(fd int, events int16, long time.Duration) (ready bool, err error) {
	p := unix.PollFd{Fd: int32(fd), Events: events}
	ts := unix.NsecToTimespec(int64(max(long, 0)))
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	switch errno {
	case 0:
		return n > 0, nil
	case unix.EINTR:
		return false, nil
	}
	return false, fmt.Errorf("wait for socket: %w", errno)
}

// napUntil sleeps until a moment of CLOCK_MONOTONIC, or shorter.
func napUntil(ns int64) {
	ts := unix.NsecToTimespec(ns)
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// nap sleeps for a while, or shorter.
func nap(long time.Duration) {
	ts := unix.NsecToTimespec(int64(long))
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// sendNow and recvNow never wait: errAgain where they would have to.
func sendNow(fd int, b []byte) (int, error) {
	return rawFlags(unix.SYS_SENDTO, fd, b, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
}
func recvNow(fd int, b []byte) (int, error) {
	return rawFlags(unix.SYS_RECVFROM, fd, b, unix.MSG_DONTWAIT)
}
