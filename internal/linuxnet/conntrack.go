//go:build linux

package linuxnet

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Forget empties the namespace's connection tracking. A kernel that cannot do so on
// request (CONFIG_NF_CT_NETLINK) is left alone: its entries end by themselves.
func (ns *NS) Forget() error {
	err := ns.Do(func() error {
		h, err := openNetlink(unix.NETLINK_NETFILTER)
		if err != nil {
			return err
		}
		defer h.Close()
		return h.ConntrackTableFlush(netlink.ConntrackTable)
	})
	for _, lacking := range []error{unix.EINVAL, unix.EOPNOTSUPP, unix.EPROTONOSUPPORT, unix.ENOENT} {
		if errors.Is(err, lacking) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("empty the connection tracking of namespace %s: %w", ns.name, err)
	}
	return nil
}
