//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/nftables"
	mdnetlink "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// netlinkWait limits the wait for one netlink reply. The kernel replies within
// milliseconds; the libraries would wait forever for a lost reply.
const netlinkWait = 30 * time.Second

// openNetlink opens a socket of one netlink family in the thread's namespace.
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

// nftablesBuffer is the size of the buffers of an nftables socket: the rules of a table are
// one message, 5 kB for each published pair of addresses, and the replies to it arrive at
// once. The kernel's default has room for the rules of 30 pairs.
const nftablesBuffer = 4 << 20

// openNFTables does the same for nftables, where every request uses its own socket.
func openNFTables() (*nftables.Conn, error) {
	return nftables.New(nftables.WithSockOptions(func(c *mdnetlink.Conn) error {
		// Without the rights for more than the machine's maximum, it is that.
		return errors.Join(c.SetWriteBuffer(nftablesBuffer), c.SetReadBuffer(nftablesBuffer), c.SetDeadline(time.Now().Add(netlinkWait)))
	}))
}

// CheckGenlFamily returns nil if the kernel has a generic netlink family. The query loads
// the module that provides it, where possible.
func CheckGenlFamily(name string) error {
	if _, err := netlink.GenlFamilyGet(name); err != nil {
		return fmt.Errorf("query the kernel for the netlink family %s: %w", name, err)
	}
	return nil
}

// askGenl sends a command of version 1 of a generic netlink family to the kernel, in the thread's
// namespace, and returns the replies. Some families leave out the flag that says that more replies
// follow, after which the library that is used elsewhere stops.
func askGenl(family string, flags mdnetlink.HeaderFlags, command byte, attributes []byte) ([]mdnetlink.Message, error) {
	f, err := netlink.GenlFamilyGet(family)
	if err != nil {
		return nil, err
	}
	conn, err := mdnetlink.Dial(unix.NETLINK_GENERIC, nil)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(netlinkWait)); err != nil {
		return nil, err
	}
	return conn.Execute(mdnetlink.Message{
		Header: mdnetlink.Header{Type: mdnetlink.HeaderType(f.ID), Flags: mdnetlink.Request | flags},
		Data:   append([]byte{command, 1, 0, 0}, attributes...),
	})
}
