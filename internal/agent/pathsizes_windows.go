package agent

import "golang.org/x/sys/windows"

// errTooBig is the error for a packet that is too big.
const errTooBig = windows.WSAEMSGSIZE

// From ws2ipdef.h: IP_DONTFRAGMENT, and IPV6_DONTFRAG, which has the same number.
const dontFragment = 14

func setDontFragment(fd uintptr, ipv6 bool) error {
	if ipv6 {
		return windows.SetsockoptInt(windows.Handle(fd), windows.IPPROTO_IPV6, dontFragment, 1)
	}
	return windows.SetsockoptInt(windows.Handle(fd), windows.IPPROTO_IP, dontFragment, 1)
}
