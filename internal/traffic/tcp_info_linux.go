package traffic

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readTCPInfo reads TCP_INFO. A kernel fills in as much as it knows, which an older one
// knows less of: size is how many bytes are its own, and the rest is zero.
func readTCPInfo(fd int) (info unix.TCPInfo, size uintptr, err error) {
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

// kernelUnacknowledged is how many bytes of a connection its peer has not acknowledged.
func kernelUnacknowledged(fd int) (n int, known bool) {
	n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	return max(n, 0), err == nil
}

// kernelInfo reads what the kernel knows of a connection. What cannot be read stays
// unknown.
func kernelInfo(fd int) tcpInfo {
	info, size, err := readTCPInfo(fd)
	if err != nil {
		return tcpInfo{}
	}
	st := tcpInfo{
		known: true, mss: int(info.Snd_mss), rtt: float64(info.Rtt) / 1e6, segments: uint64(info.Segs_out), retransmits: int64(info.Total_retrans),
		sent: info.Bytes_sent, resent: info.Bytes_retrans, received: info.Bytes_received,
		times: chronographOf(&info, size),
	}
	st.congestion, _ = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	st.sendBuffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	st.receiveBuffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	return st
}
