//go:build linux

package linuxnet

import (
	"fmt"

	mdnetlink "github.com/mdlayher/netlink"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
)

// Queues are the numbers of receive and transmit queues of a link, now and at most.
type Queues struct{ Rx, Tx, MaxRx, MaxTx int }

// Queues reads the numbers of queues of a link, as ethtool -l does.
func (ns *Tuning) Queues(name string) (q Queues, err error) {
	err = ns.withEthtool(func(e *ethtool.Ethtool) error {
		c, err := e.GetChannels(name)
		if err != nil {
			return fmt.Errorf("read the queues of %s in namespace %s: %w", name, ns.name, err)
		}
		q = Queues{int(c.RxCount), int(c.TxCount), int(c.MaxRx), int(c.MaxTx)}
		return nil
	})
	return q, err
}

// SetQueues sets the numbers of queues of a link, as ethtool -L does.
func (ns *Tuning) SetQueues(name string, rx, tx int) error {
	return ns.withEthtool(func(e *ethtool.Ethtool) error {
		c, err := e.GetChannels(name)
		if err == nil {
			c.RxCount, c.TxCount = uint32(rx), uint32(tx)
			_, err = e.SetChannels(name, c)
		}
		if err != nil {
			return fmt.Errorf("set the queues of %s to %d for receiving and %d for sending in namespace %s: %w", name, rx, tx, ns.name, err)
		}
		return nil
	})
}

// SetQueueLength sets the length of a link's transmit queue in packets.
func (ns *Tuning) SetQueueLength(name string, packets int) error {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkSetTxQLen(l, packets); err != nil {
		return fmt.Errorf("set the transmit queue of %s to %d packets in namespace %s: %w", name, packets, ns.name, err)
	}
	return nil
}

// QueueLength reads the length of a link's transmit queue in packets.
func (ns *Tuning) QueueLength(name string) (int, error) {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return 0, err
	}
	return l.Attrs().TxQLen, nil
}

// SetQdisc replaces the root queueing discipline of a link by one of a kind, with its
// defaults.
func (ns *Tuning) SetQdisc(name, kind string) error {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return err
	}
	q := &netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Parent: netlink.HANDLE_ROOT}, QdiscType: kind}
	if err := ns.handle.QdiscReplace(q); err != nil {
		return fmt.Errorf("set the queueing discipline of %s to %s in namespace %s: %w", name, kind, ns.name, err)
	}
	return nil
}

// Qdisc reads the kind of a link's root queueing discipline, and the packets that it sent,
// counted as segments.
func (ns *Tuning) Qdisc(name string) (kind string, packets uint64, err error) {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return "", 0, err
	}
	var list []netlink.Qdisc
	err = complete(func() error {
		list, err = ns.handle.QdiscList(l)
		return err
	})
	if err != nil {
		return "", 0, fmt.Errorf("read the queueing discipline of %s in namespace %s: %w", name, ns.name, err)
	}
	for _, q := range list {
		a := q.Attrs()
		if a.Parent != netlink.HANDLE_ROOT {
			continue
		}
		if a.Statistics != nil && a.Statistics.Basic != nil {
			packets = uint64(a.Statistics.Basic.Packets)
		}
		return q.Type(), packets, nil
	}
	return "noqueue", 0, nil
}

// PacketSizes are the maximum sizes of a link's packets before segmentation and after
// merging, in bytes, by address family.
type PacketSizes struct{ GSO, GSOIPv4, GRO, GROIPv4 int }

// SetPacketSizes sets all of them.
func (ns *Tuning) SetPacketSizes(name string, bytes int) error {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return err
	}
	for _, set := range []func(netlink.Link, int) error{
		ns.handle.LinkSetGSOMaxSize, ns.handle.LinkSetGSOIPv4MaxSize, ns.handle.LinkSetGROMaxSize, ns.handle.LinkSetGROIPv4MaxSize,
	} {
		if err := set(l, bytes); err != nil {
			return fmt.Errorf("set the maximum packet of %s to %d bytes in namespace %s: %w", name, bytes, ns.name, err)
		}
	}
	return nil
}

// PacketSizes reads them.
func (ns *Tuning) PacketSizes(name string) (PacketSizes, error) {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return PacketSizes{}, err
	}
	a := l.Attrs()
	return PacketSizes{int(a.GSOMaxSize), int(a.GSOIPv4MaxSize), int(a.GROMaxSize), int(a.GROIPv4MaxSize)}, nil
}

// From the kernel's uapi/linux/netdev.h.
const (
	netdevCmdNAPIGet     = 11
	netdevNAPIAttrDevice = 1
	netdevNAPIAttrPID    = 4
)

// NAPIThreads lists the kernel threads that receive the packets of links in threaded NAPI
// mode, by device. It needs Linux 6.8. The ids are those of the machine, not of a PID
// namespace.
func (ns *Tuning) NAPIThreads() (map[string][]int, error) {
	out := map[string][]int{}
	err := ns.whole().Do(func() error {
		replies, err := dumpNAPI()
		if err != nil {
			return err
		}
		for _, m := range replies {
			device, pid, err := napiThread(m.Data)
			if err != nil {
				return err
			}
			l, err := ns.handle.LinkByIndex(device)
			if err != nil {
				return err
			}
			if pid > 0 {
				out[l.Attrs().Name] = append(out[l.Attrs().Name], pid)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the NAPI threads of namespace %s (needs Linux 6.8): %w", ns.name, err)
	}
	return out, nil
}

// dumpNAPI requests all NAPI instances of the thread's namespace.
func dumpNAPI() ([]mdnetlink.Message, error) {
	return askGenl("netdev", mdnetlink.Dump, netdevCmdNAPIGet, nil)
}

// napiThread reads the index of the device and the thread's id, 0 for none, of a reply.
func napiThread(reply []byte) (device, pid int, err error) {
	const header = 4
	if len(reply) < header {
		return 0, 0, fmt.Errorf("a reply of %d bytes", len(reply))
	}
	d, err := mdnetlink.NewAttributeDecoder(reply[header:])
	if err != nil {
		return 0, 0, err
	}
	for d.Next() {
		switch d.Type() {
		case netdevNAPIAttrDevice:
			device = int(d.Uint32())
		case netdevNAPIAttrPID:
			pid = int(d.Uint32())
		}
	}
	return device, pid, d.Err()
}
