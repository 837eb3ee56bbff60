package tcp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/traffic/socket"
)

// poll drives several connections on one thread: it steps those whose sockets are ready and those
// whose time has come.
type poll struct {
	fd    int
	group []*streamEnd
	armed []uint32 // events requested from the kernel, by connection
	left  int      // connections that are not done
	wake  time.Duration
}

// driveGroup makes the sockets of a group non-blocking and serves them until all are done.
func driveGroup(ctx context.Context, over *atomic.Bool, group []*streamEnd) error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open epoll: %w", err)
	}
	defer unix.Close(fd)
	l := &poll{fd: fd, group: group, armed: make([]uint32, len(group)), left: len(group)}
	for i, e := range group {
		if err := l.add(i, e); err != nil {
			return err
		}
	}
	events := make([]unix.EpollEvent, len(group))
	for l.left > 0 {
		if over.Load() {
			return context.Cause(ctx)
		}
		n, err := unix.EpollWait(fd, events, l.timeout())
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for %d connections: %w", l.left, err)
		}
		for _, ev := range events[:max(n, 0)] {
			if err := l.step(int(ev.Fd)); err != nil {
				return err
			}
		}
		if err := l.timers(); err != nil {
			return err
		}
	}
	return nil
}

func (l *poll) add(i int, e *streamEnd) error {
	s := e.FD()
	if err := unix.SetNonblock(s, true); err != nil {
		return fmt.Errorf("make socket non-blocking: %w", err)
	}
	l.armed[i] = e.interest(0)
	// The descriptor field of the event is free for our use: it has the index.
	if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_ADD, s, &unix.EpollEvent{Events: l.armed[i], Fd: int32(i)}); err != nil {
		return fmt.Errorf("watch socket: %w", err)
	}
	return nil
}

// step advances one connection and sets the events it waits for.
func (l *poll) step(i int) error {
	e := l.group[i]
	if e.done {
		return nil
	}
	if err := e.step(); err != nil {
		return err
	}
	at := e.start.Since()
	l.wake = min(l.wake, e.nextStep(at))
	if e.done {
		l.left--
		// One that both ends have closed would be ready for ever, whatever events it waits for.
		if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_DEL, e.FD(), nil); err != nil {
			return fmt.Errorf("watch socket: %w", err)
		}
		return nil
	}
	want := e.interest(at)
	if want == l.armed[i] {
		return nil
	}
	l.armed[i] = want
	if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_MOD, e.FD(), &unix.EpollEvent{Events: want, Fd: int32(i)}); err != nil {
		return fmt.Errorf("watch socket: %w", err)
	}
	return nil
}

// timers steps the connections whose time has come.
func (l *poll) timers() error {
	at := l.group[0].start.Since()
	if at < l.wake {
		return nil
	}
	l.wake = never
	for i, e := range l.group {
		w := e.nextStep(at)
		if w > at {
			l.wake = min(l.wake, w)
			continue
		}
		if err := l.step(i); err != nil {
			return err
		}
	}
	return nil
}

// timeout returns how long to wait for events in ms. It rounds up to avoid spinning.
func (l *poll) timeout() int {
	d := min(l.wake-l.group[0].start.Since(), socket.PollTimeout)
	return int((max(d, 0) + time.Millisecond - 1) / time.Millisecond)
}

// interest returns the events that a connection waits for.
func (e *streamEnd) interest(at time.Duration) uint32 {
	var want uint32
	switch {
	case !e.send || e.draining:
		return unix.EPOLLIN
	case at >= e.bins.End: // the receiver's stop byte may arrive
		want = unix.EPOLLIN
	}
	if !e.idle() {
		want |= unix.EPOLLOUT
	}
	return want
}
