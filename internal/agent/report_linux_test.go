package agent

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// report is a control message with an error of a socket.
func report(level, kind int32, origin uint8, errno unix.Errno, info uint32) []byte {
	const size = int(unsafe.Sizeof(unix.SockExtendedErr{}))
	oob := make([]byte, unix.CmsgSpace(size))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&oob[0]))
	h.Level, h.Type = level, kind
	h.SetLen(unix.CmsgLen(size))
	*(*unix.SockExtendedErr)(unsafe.Pointer(&oob[unix.CmsgLen(0)])) = unix.SockExtendedErr{Errno: uint32(errno), Origin: origin, Info: info}
	return oob
}

// Only a router's report that a packet was too big counts, not the own system's refusal.
func TestParseReport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		oob []byte
		mtu int
		ok  bool
	}{
		"IPv4":             {report(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, unix.EMSGSIZE, 1400), 1400, true},
		"IPv6":             {report(unix.IPPROTO_IPV6, unix.IPV6_RECVERR, unix.SO_EE_ORIGIN_ICMP6, unix.EMSGSIZE, 1280), 1280, true},
		"own system":       {report(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_LOCAL, unix.EMSGSIZE, 1500), 0, false},
		"port unreachable": {report(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, unix.ECONNREFUSED, 0), 0, false},
		"cut":              {report(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, unix.EMSGSIZE, 1400)[:20], 0, false},
		"nothing":          {nil, 0, false},
	} {
		if mtu, ok := parseReport(c.oob); mtu != c.mtu || ok != c.ok {
			t.Errorf("%s: %d, %t", name, mtu, ok)
		}
	}
}
