//go:build linux

package linuxnet

import (
	"fmt"
	"time"

	"github.com/google/nftables"
	mdnetlink "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink"
)

// netlinkWait bounds the wait for one answer of the kernel over netlink. It gives them
// within milliseconds; the libraries would wait for ever for one that got lost.
const netlinkWait = 30 * time.Second

// openNetlink opens a socket of one netlink family in the namespace of the thread.
func openNetlink(family int) (*netlink.Handle, error) {
	h, err := netlink.NewHandle(family)
	if err != nil {
		return nil, err
	}
	if err := h.SetSocketTimeout(netlinkWait); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// openNFTables does so for nftables, of which every request has a socket of its own.
func openNFTables() (*nftables.Conn, error) {
	return nftables.New(nftables.WithSockOptions(func(c *mdnetlink.Conn) error {
		return c.SetDeadline(time.Now().Add(netlinkWait))
	}))
}

// CheckGenlFamily is nil where the kernel has a family of generic netlink, which a module may
// bring: asking for it loads the module where that can be.
func CheckGenlFamily(name string) error {
	if _, err := netlink.GenlFamilyGet(name); err != nil {
		return fmt.Errorf("ask the kernel for the netlink family %s: %w", name, err)
	}
	return nil
}
