package socket

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// zeroCopyRetry is how long a sender without a free buffer sleeps if nothing wakes it.
const zeroCopyRetry = time.Millisecond

// setZeroCopy allows MSG_ZEROCOPY on a socket. It reads the option back, because a kernel that
// implements Linux's calls may accept an option that it does not have.
func setZeroCopy(fd int) error {
	err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1)
	if err == nil {
		var on int
		if on, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY); err == nil && on != 1 {
			err = errors.New("it ignores the option")
		}
	}
	if err != nil {
		return fmt.Errorf("set SO_ZEROCOPY: this kernel does not send TCP without copying, which requires Linux 4.14; set zero_copy to off: %w", err)
	}
	return nil
}

// MapZeroCopy returns size bytes for buffers to send without copying. The memory is not of the Go heap: the kernel
// may still send from its pages after a failed trial, when the heap would already use them for
// something else.
func MapZeroCopy(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("allocate buffers to send without copying: %w", err)
	}
	return b, nil
}

// UnmapZeroCopy frees the memory of MapZeroCopy. Pages that the kernel still sends from stay until
// it has.
func UnmapZeroCopy(b []byte) { _ = unix.Munmap(b) }

// ZeroCopy sends on one TCP socket from buffers that the kernel reads in place (MSG_ZEROCOPY). A
// buffer is in use until the kernel returns it by a message on the socket's error queue.
type ZeroCopy struct {
	fd     int
	raw    bool // bypass the Go scheduler, as RawStream
	wait   bool // for a free buffer
	memory []byte
	used   []bool // by buffer. Their number divides 2^32, where the kernel's numbers of sends wrap
	size   int    // of a buffer
	next   uint32 // number of the next send, as the kernel counts
	inUse  int    // of used
	full   bool   // the last send found no free buffer, or the kernel no memory
	count  ZeroCopyCount

	header  unix.Msghdr
	control [16]uint64 // of header; aligned
}

// ZeroCopyCount is how many sends without copying the kernel completed, how many of them it copied
// after all, and how many it refused for lack of memory to account for them.
type ZeroCopyCount struct{ Completed, Copied, Refused int64 }

// NewZeroCopy returns the sender of a socket that has sent nothing with MSG_ZEROCOPY. Memory holds a
// power of 2 of buffers of size bytes. A raw sender bypasses the Go scheduler.
func NewZeroCopy(fd int, memory []byte, size int, raw bool) *ZeroCopy {
	return &ZeroCopy{fd: fd, raw: raw, wait: true, memory: memory, size: size, used: make([]bool, len(memory)/size)}
}

// NeverWait makes Send return ErrAgain at once if there is no free buffer.
func (z *ZeroCopy) NeverWait() { z.wait = false }

// Full reports whether the last Send found no free buffer, or no memory in the kernel, and none has
// become free since.
func (z *ZeroCopy) Full() bool { return z.full }

// Count returns the counts so far.
func (z *ZeroCopy) Count() ZeroCopyCount { return z.count }

// Send sends n bytes, at most the size of a buffer, from a free buffer. It returns ErrAgain if there
// is none, after waiting for up to PollTimeout.
func (z *ZeroCopy) Send(n int) (int, error) {
	i := int(z.next) & (len(z.used) - 1)
	// Rarely enough that one message tells of several buffers.
	if z.inUse > len(z.used)/2 || z.used[i] {
		if _, err := z.Reap(); err != nil {
			return 0, err
		}
	}
	if z.used[i] {
		return 0, z.await()
	}
	n, err := z.send(z.memory[i*z.size:][:n])
	switch {
	case err == nil:
		z.used[i], z.full = true, false
		z.next++
		z.inUse++
		return n, nil
	case errors.Is(err, unix.ENOBUFS):
		z.count.Refused++
		return 0, z.await()
	case IsAgain(err):
		if _, failed := z.Reap(); failed != nil {
			err = failed
		}
	}
	return 0, err
}

func (z *ZeroCopy) send(b []byte) (int, error) {
	if z.raw {
		return rawFlags(unix.SYS_SENDTO, z.fd, b, unix.MSG_NOSIGNAL|unix.MSG_ZEROCOPY)
	}
	n, err := unix.SendmsgN(z.fd, b, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_ZEROCOPY)
	return max(n, 0), pollError(err)
}

// await waits until the kernel returns a buffer, and returns ErrAgain.
func (z *ZeroCopy) await() error {
	z.full = true
	if !z.wait {
		return ErrAgain
	}
	// Any message on the error queue ends the wait. With no buffer in use none will come: the kernel
	// lacks memory because of other sockets.
	if z.inUse > 0 {
		if err := z.poll(); err != nil {
			return err
		}
	}
	switch freed, err := z.Reap(); {
	case err != nil:
		return err
	case freed == 0: // an error of the connection may have ended the wait
		FastStream(z.fd).Pause(zeroCopyRetry)
	}
	return ErrAgain
}

func (z *ZeroCopy) poll() error {
	if z.raw {
		_, err := PollFD(z.fd, 0, PollTimeout)
		return err
	}
	_, err := unix.Poll([]unix.PollFd{{Fd: int32(z.fd)}}, int(PollTimeout.Milliseconds()))
	if errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}

// Pending returns how many buffers the kernel still uses.
func (z *ZeroCopy) Pending() int { return z.inUse }

// Reap takes the kernel's messages without waiting, and returns how many buffers it returned.
func (z *ZeroCopy) Reap() (freed int, err error) {
	before := z.inUse
	for {
		z.header.Control = (*byte)(unsafe.Pointer(&z.control[0]))
		z.header.SetControllen(int(unsafe.Sizeof(z.control)))
		_, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(z.fd), uintptr(unsafe.Pointer(&z.header)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		switch errno {
		case 0:
			z.complete()
			continue
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			freed = before - z.inUse
			z.full = z.full && freed == 0
			return freed, nil
		}
		return 0, fmt.Errorf("read which zero-copy buffers are free: %w", errno)
	}
}

// complete frees the buffers that the message in control names, by the numbers of the first and the
// last send. Messages about something else are ignored.
func (z *ZeroCopy) complete() {
	h := (*unix.Cmsghdr)(unsafe.Pointer(&z.control[0]))
	ipv4 := h.Level == unix.SOL_IP && h.Type == unix.IP_RECVERR
	ipv6 := h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_RECVERR
	if int(z.header.Controllen) < unix.CmsgLen(int(unsafe.Sizeof(unix.SockExtendedErr{}))) || !ipv4 && !ipv6 {
		return
	}
	e := (*unix.SockExtendedErr)(unsafe.Add(unsafe.Pointer(&z.control[0]), unix.CmsgLen(0)))
	if e.Origin != unix.SO_EE_ORIGIN_ZEROCOPY || e.Errno != 0 {
		return
	}
	for n := range e.Data - e.Info + 1 {
		i := int(e.Info+n) & (len(z.used) - 1)
		if !z.used[i] {
			continue
		}
		z.used[i] = false
		z.inUse--
		z.count.Completed++
		if e.Code == unix.SO_EE_CODE_ZEROCOPY_COPIED {
			z.count.Copied++
		}
	}
}
