// Package linuxnet is the only package that configures the kernel's networking: namespaces,
// links, addresses, address translation, counters, offloads. Its callers say what to create
// and never handle netlink messages.
//
// It works for root and for root of a user namespace. On other systems than Linux its
// functions return ErrSystem.
package linuxnet

import (
	"errors"
	"runtime"

	"tare/internal/linuxnet/here"
)

// ErrSystem is returned on systems other than Linux.
var ErrSystem = errors.New("network namespaces need Linux, and this is " + runtime.GOOS)

// Filter is a chain of packet filter rules, see here.Filter.
type Filter = here.Filter

// Bucket returns the sizes, in bytes, of the token bucket of a link of rate bit/s and of
// the queue behind it. The bucket holds 2 ms or 32 full GSO packets, whichever is more; the
// queue holds 50 ms.
func Bucket(rate uint64, mtu int) (burst, queue uint64) {
	bytes := rate / 8
	burst = max(bytes/500, 32*uint64(max(0, mtu)), 64<<10)
	return burst, max(bytes/20, 2*burst)
}
