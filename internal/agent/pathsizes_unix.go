//go:build unix && !linux

package agent

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// errTooBig is the error for a packet that is too big.
const errTooBig = unix.EMSGSIZE

// From the netinet/in.h and netinet6/in6.h of Darwin: IP_DONTFRAG and IPV6_DONTFRAG.
const (
	dontFragmentIPv4 = 28
	dontFragmentIPv6 = 62
)

func setDontFragment(fd uintptr, ipv6 bool) error {
	switch {
	case runtime.GOOS != "darwin":
		return errors.ErrUnsupported
	case ipv6:
		return unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, dontFragmentIPv6, 1)
	}
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, dontFragmentIPv4, 1)
}
