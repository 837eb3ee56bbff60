package traffic

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tcpInfo reads TCP_INFO. A kernel fills in as much as it knows, which an older one
// knows less of: size is how many bytes are its own, and the rest is zero.
func tcpInfo(fd int) (info unix.TCPInfo, size uintptr, err error) {
	long := uint32(unix.SizeofTCPInfo)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&long)), 0)
	if errno != 0 {
		return info, 0, fmt.Errorf("read TCP_INFO: %w", errno)
	}
	return info, uintptr(long), nil
}

// chronographOf is what a kernel of at least Linux 4.10 has booked.
func chronographOf(info *unix.TCPInfo, size uintptr) chronograph {
	if size < unsafe.Offsetof(info.Sndbuf_limited)+unsafe.Sizeof(info.Sndbuf_limited) {
		return chronograph{}
	}
	us := func(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
	return chronograph{known: true, busy: us(info.Busy_time), receiveWindow: us(info.Rwnd_limited), sendBuffer: us(info.Sndbuf_limited)}
}

func (s fastStream) queued() (int, error) { return kernelQueued(int(s)) }

func kernelQueued(fd int) (int, error) {
	n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	if err != nil {
		return 0, fmt.Errorf("read what is not acknowledged: %w", err)
	}
	return n, nil
}
