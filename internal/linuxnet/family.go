//go:build linux

package linuxnet

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// Family is nil where the kernel has a family of generic netlink, which a module may
// bring: asking for it loads the module where that can be.
func Family(name string) error {
	if _, err := netlink.GenlFamilyGet(name); err != nil {
		return fmt.Errorf("ask the kernel for the netlink family %s: %w", name, err)
	}
	return nil
}
