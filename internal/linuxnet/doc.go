// Package linuxnet is the only room that speaks to the kernel about networks:
// namespaces, links, addresses, address translation, counters, offloads. What
// is above it says what to build, and never how a netlink message looks.
//
// It works the same as root and as the root of a user namespace. On any other
// system than Linux there is only its outline, and everything answers ErrSystem.
package linuxnet

import (
	"errors"
	"runtime"
)

// ErrSystem is the answer of a system that is not Linux.
var ErrSystem = errors.New("network namespaces need Linux, and this is " + runtime.GOOS)
