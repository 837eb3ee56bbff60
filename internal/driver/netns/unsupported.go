//go:build linux

package netns

import (
	"cmp"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/linuxnet/redirect"
)

// unsupported distinguishes a missing kernel feature from other errors: for an unknown
// device or rule type the kernel returns one of these errors.
func unsupported(id string, modes labdriver.Rows[recipe], err error) error {
	var u *redirect.UnavailableError
	if errors.As(err, &u) {
		return &driver.Unsupported{Mode: id, Reason: u.Error()}
	}
	lacks := errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOENT) ||
		errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EAFNOSUPPORT)
	if !lacks {
		return err
	}
	row, _ := modes.Find("netns", id)
	needs := cmp.Or(row.Build.needs, "network namespaces and veth (CONFIG_NET_NS, CONFIG_VETH)")
	return &driver.Unsupported{Mode: id, Reason: fmt.Sprintf("the kernel lacks %s: %v", needs, err)}
}
