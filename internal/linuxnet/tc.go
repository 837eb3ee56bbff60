//go:build linux

package linuxnet

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Index reads the number that the kernel has given a link in its namespace.
func (ns *Links) Index(name string) (int, error) {
	l, err := ns.link(name)
	if err != nil {
		return 0, err
	}
	return l.Attrs().Index, nil
}

// AttachIngress attaches a tc program, given as a file descriptor, to what a link receives.
// It adds the queueing discipline clsact for it, which must not be there yet.
func (ns *Rules) AttachIngress(name string, program int) error {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return err
	}
	index := l.Attrs().Index
	if err := ns.handle.QdiscAdd(clsact(index)); err != nil {
		return fmt.Errorf("add clsact to %s in namespace %s: %w", name, ns.name, err)
	}
	f := &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: index, Parent: netlink.HANDLE_MIN_INGRESS, Handle: 1, Priority: 1, Protocol: unix.ETH_P_ALL},
		Fd:          program, Name: "tare", DirectAction: true,
	}
	if err := ns.handle.FilterAdd(f); err != nil {
		return fmt.Errorf("attach a tc program to %s in namespace %s: %w", name, ns.name, err)
	}
	return nil
}

// DetachIngress removes clsact from a link, with all programs that are attached to it.
func (ns *Rules) DetachIngress(name string) error {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return err
	}
	if err := ns.handle.QdiscDel(clsact(l.Attrs().Index)); err != nil {
		return fmt.Errorf("remove clsact from %s in namespace %s: %w", name, ns.name, err)
	}
	return nil
}

func clsact(index int) *netlink.Clsact {
	return &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}}
}
