package socket

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setOptions sets the options that must be active before the handshake: the window scale depends on
// the receive buffer, and accepted sockets inherit the options of the listening socket. It makes no system
// call for what the options leave to the kernel.
func setOptions(fd int, o *TCPOptions) error {
	if err := setCongestion(fd, o.Congestion); err != nil {
		return err
	}
	if err := setBuffers(fd, o.SendBuffer.Socket(), o.ReceiveBuffer.Socket()); err != nil {
		return err
	}
	if o.NoDelay == nil {
		return nil
	}
	on := int32(0)
	if *o.NoDelay {
		on = 1
	}
	if err := setNow(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, unsafe.Pointer(&on), int(unsafe.Sizeof(on))); err != nil {
		return fmt.Errorf("set TCP_NODELAY: %w", err)
	}
	return nil
}

// setCongestion keeps the kernel's default if name is empty.
func setCongestion(fd int, name string) error {
	if name == "" {
		return nil
	}
	err := setNow(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, unsafe.Pointer(unsafe.StringData(name)), len(name))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("set congestion control %s: this kernel has only %s; load the module tcp_%s or name another", name, congestions(), name)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("set congestion control %s: it requires CAP_NET_ADMIN; add it to net.ipv4.tcp_allowed_congestion_control or name another: %w", name, err)
	}
	return fmt.Errorf("set congestion control %s: %w", name, err)
}

func congestions() string {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return "others"
	}
	return strings.TrimSpace(string(b))
}

func setBuffers(fd, send, receive int) error {
	if err := setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, send); err != nil {
		return fmt.Errorf("set send buffer: %w", err)
	}
	if err := setBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receive); err != nil {
		return fmt.Errorf("set receive buffer: %w", err)
	}
	return nil
}

// setBuffer first tries to exceed the system's limit, which requires real root, and then stays
// within it. The report has the granted size.
func setBuffer(fd, force, plain, bytes int) error {
	if bytes < 0 {
		return nil
	}
	bytes = min(bytes, math.MaxInt32) // the option is 32 bits wide
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, bytes) == nil {
		return nil
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, bytes)
}

// setReset makes a socket close with RST instead of FIN.
func setReset(fd int) error {
	linger := unix.Linger{Onoff: 1}
	if err := setNow(fd, unix.SOL_SOCKET, unix.SO_LINGER, unsafe.Pointer(&linger), int(unsafe.Sizeof(linger))); err != nil {
		return fmt.Errorf("set SO_LINGER: %w", err)
	}
	return nil
}

// readTCPInfo reads TCP_INFO. An older kernel fills in fewer fields: size is how many bytes it
// wrote, and the rest is zero.
func readTCPInfo(fd int) (info unix.TCPInfo, size uintptr, err error) {
	length := uint32(unix.SizeofTCPInfo)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&length)), 0)
	if errno != 0 {
		return info, 0, fmt.Errorf("read TCP_INFO: %w", errno)
	}
	return info, uintptr(length), nil
}

// chronographOf returns the times that a kernel from Linux 4.10 on reports.
func chronographOf(info *unix.TCPInfo, size uintptr) Chronograph {
	if size < unsafe.Offsetof(info.Sndbuf_limited)+unsafe.Sizeof(info.Sndbuf_limited) {
		return Chronograph{}
	}
	us := func(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
	return Chronograph{Known: true, Busy: us(info.Busy_time), ReceiveWindow: us(info.Rwnd_limited), SendBuffer: us(info.Sndbuf_limited)}
}

// kernelUnacknowledged returns how many bytes of a connection the peer has not acknowledged.
func kernelUnacknowledged(fd int) (n int, known bool) {
	n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	return max(n, 0), err == nil
}

// kernelInfo reads what the kernel reports about a connection. Values that cannot be read stay
// unknown.
func kernelInfo(fd int) TCPInfo {
	info, size, err := readTCPInfo(fd)
	if err != nil {
		return TCPInfo{}
	}
	st := infoOf(&info, size)
	st.Congestion, _ = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	st.SendBuffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	st.ReceiveBuffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	return st
}

// infoOf converts TCP_INFO. Every kernel of Linux reports a maximum segment size. gVisor's fills in the
// whole structure, but has no counters in it, and counts round trips in milliseconds.
func infoOf(info *unix.TCPInfo, size uintptr) TCPInfo {
	if info.Snd_mss == 0 {
		return TCPInfo{}
	}
	least := info.Min_rtt
	if least == math.MaxUint32 { // none so far
		least = 0
	}
	return TCPInfo{
		Known: true, MinRTT: float64(least) / 1e6, MSS: int(info.Snd_mss), RTT: float64(info.Rtt) / 1e6, Segments: uint64(info.Segs_out), Retransmits: int64(info.Total_retrans),
		Sent: info.Bytes_sent, Resent: info.Bytes_retrans, Received: info.Bytes_received,
		Times: chronographOf(info, size),
	}
}
