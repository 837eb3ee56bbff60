package calibration

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/traffic/thread"
)

// measure measures all facts, each for the budget, and the one that other programs disturb most for
// two. Its threads end with it, so that nothing else of the program is bound to their CPU.
func measure(budget time.Duration) []result.Fact {
	var out []result.Fact
	_ = thread.Run(1, -1, func(int) error { // the function has no error
		cpu := currentCPU()
		if err := thread.Pin(cpu); err != nil {
			cpu = -1 // as the scheduler likes
		}
		out = append(out, factOf(syscalls(), budget), factOf(copies(), budget), switchFact(cpu, 2*budget), packetFact(cpu, budget))
		return nil
	})
	return out
}

// currentCPU returns the CPU that the calling thread runs on, -1 if that is unknown.
func currentCPU() int {
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return -1
	}
	return int(cpu)
}

// syscalls times the cheapest system call that a kernel does not answer in user space.
func syscalls() one {
	const n = 1000
	return one{Syscall, nanoseconds, n, func() error {
		for range n {
			unix.RawSyscallNoError(unix.SYS_GETPPID, 0, 0, 0)
		}
		return nil
	}, wallClock()}
}

// copies times the copy of a block that fits the second level of any server's caches, twice.
func copies() one {
	const size, n = 256 << 10, 10
	from, to := make([]byte, size), make([]byte, size)
	for i := range from {
		from[i] = byte(i)
	}
	return one{Copy, rate(size), n, func() error {
		for range n {
			copy(to, from)
		}
		return nil
	}, wallClock()}
}

// switchFact times round trips between two threads that are bound to one CPU: one writes a byte to a
// pipe and waits for the answer of the other. Each has four system calls, two wake-ups and two
// changes of thread. What counts is the CPU time of both, because another program may run at each change.
func switchFact(cpu int, budget time.Duration) result.Fact {
	ping, err := newPipe()
	if err != nil {
		return unknown(Switch, err)
	}
	defer ping.closeBoth()
	pong, err := newPipe()
	if err != nil {
		return unknown(Switch, err)
	}
	defer pong.closeBoth()
	var fact result.Fact
	var answering atomic.Int32
	err = thread.Run(2, -1, func(i int) error {
		if i == 1 {
			defer pong.closeWriter() // the other side's read ends, whatever happens here
			answering.Store(int32(unix.Gettid()))
			return errors.Join(thread.Pin(cpu), answer(ping, pong))
		}
		defer ping.closeWriter()
		if err := errors.Join(thread.Pin(cpu), exchange(ping, pong, 1)); err != nil {
			return err
		}
		const n = 10
		both := func() time.Duration { return threadTime() + threadTimeOf(answering.Load()) }
		fact = factOf(one{Switch, nanoseconds, n, func() error { return exchange(ping, pong, n) }, both}, budget)
		return nil
	})
	if err != nil {
		return unknown(Switch, err)
	}
	return fact
}

// exchange makes n round trips over two pipes.
func exchange(ping, pong *pipe, n int) error {
	var b [1]byte
	for range n {
		if err := ping.write(b[:]); err != nil {
			return err
		}
		if got, err := pong.read(b[:]); err != nil || got != 1 {
			return errors.Join(errors.New("the other thread does not answer"), err)
		}
	}
	return nil
}

// answer returns each byte of one pipe over the other, until the first one is closed.
func answer(ping, pong *pipe) error {
	var b [1]byte
	for {
		if n, err := ping.read(b[:]); err != nil || n == 0 {
			return err
		}
		if err := pong.write(b[:]); err != nil {
			return err
		}
	}
}

// pipe is a pipe whose reads and writes block the thread. Go's own files would wait in the poller.
type pipe struct{ reader, writer int }

func newPipe() (*pipe, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("create a pipe: %w", err)
	}
	return &pipe{fds[0], fds[1]}, nil
}

func (p *pipe) read(b []byte) (int, error) {
	for {
		n, err := unix.Read(p.reader, b)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func (p *pipe) write(b []byte) error {
	for {
		_, err := unix.Write(p.writer, b)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (p *pipe) closeWriter() {
	if p.writer >= 0 {
		unix.Close(p.writer)
		p.writer = -1
	}
}

// closeBoth closes the reader and the writer; neither may be in use.
func (p *pipe) closeBoth() {
	p.closeWriter()
	unix.Close(p.reader)
}

// packetFact times datagrams that one thread sends to itself over the loopback of a network namespace
// of its own, which no packet filter of the machine reaches. The kernel delivers them before the
// write returns, so that it is the cost of packets without a wake-up.
func packetFact(cpu int, budget time.Duration) result.Fact {
	ns, err := linuxnet.NewNS("calibration")
	if err != nil {
		return unknown(Packet, err)
	}
	defer ns.Close()
	var fact result.Fact
	err = ns.Do(func() error {
		if err := thread.Pin(cpu); err != nil {
			return err
		}
		fd, err := selfSocket()
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		fact = factOf(datagrams(fd), budget)
		return nil
	})
	if err != nil {
		return unknown(Packet, err)
	}
	return fact
}

// selfSocket returns a datagram socket that is connected to itself.
func selfSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("create a socket: %w", err)
	}
	self := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	err = unix.Bind(fd, self)
	if err == nil {
		var bound unix.Sockaddr
		if bound, err = unix.Getsockname(fd); err == nil {
			err = unix.Connect(fd, bound)
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("connect a socket to itself: %w", err)
	}
	return fd, nil
}

// datagrams times the way of datagrams from a socket to itself. Neither call blocks, so they need
// not tell Go's scheduler.
func datagrams(fd int) one {
	const n = 50
	return one{Packet, nanoseconds, n, func() error {
		var b [64]byte
		for range n {
			if _, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b)), uintptr(len(b))); errno != 0 {
				return fmt.Errorf("send a datagram over loopback: %w", errno)
			}
			if err := receive(fd, b[:]); err != nil {
				return err
			}
		}
		return nil
	}, wallClock()}
}

// receive receives a datagram that is there, or, if the kernel delivers it later, waits for it.
func receive(fd int, b []byte) error {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		case unix.EAGAIN:
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000)
			if err != nil && !errors.Is(err, unix.EINTR) {
				return fmt.Errorf("wait for a datagram over loopback: %w", err)
			}
			if n == 0 && err == nil {
				return errors.New("a datagram over loopback did not arrive within 1 s")
			}
		default:
			return fmt.Errorf("receive a datagram over loopback: %w", errno)
		}
	}
}
