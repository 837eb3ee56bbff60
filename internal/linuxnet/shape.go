//go:build linux

package linuxnet

import (
	"fmt"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
)

// Limit shapes what a link sends to rate bit/s with a token bucket. The bucket
// and the queue behind it hold what [Bucket] says, so that TCP sees a short router
// queue and no loss from the bucket's own coarseness.
func (ns *NS) Limit(name string, rate uint64, mtu int) error {
	l, err := ns.link(name)
	if err != nil {
		return err
	}
	bytes := rate / 8
	burst, queue := Bucket(rate, mtu)
	q := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       bytes,
		Limit:      uint32(min(queue, 1<<31)),
		// tc(8) writes the bucket's size as the time it takes to send it.
		Buffer: netlink.Xmittime(bytes, uint32(burst)),
	}
	if err := ns.handle.QdiscReplace(q); err != nil {
		return fmt.Errorf("limit %s to %d bit/s in namespace %s (needs the tbf queueing discipline): %w", name, rate, ns.name, err)
	}
	return nil
}

// offloads are the features that Segmentation switches: whatever lets a packet
// larger than the MTU cross a device. Checksums are left alone: switching them off
// makes the kernel compute what no wire here could damage.
func offloads() []string {
	return []string{
		"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
		"tx-generic-segmentation", "tx-udp-segmentation", "tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation",
		"rx-gro",
	}
}

// Segmentation switches a link's segmentation offloads and GRO off, or leaves
// them as the kernel made them, which for the devices of a lab is on. Features
// that the device does not have, or does not let go of, are passed over; Describe
// reads back what is in force.
func (ns *NS) Segmentation(name string, on bool) error {
	if on {
		return nil
	}
	return ns.switchOff(name, offloads(), "switch offloads of "+name)
}

// ChecksumOff has the kernel finish checksums before packets leave by a link, which
// then cuts large ones, too: for devices whose frames a process reads.
func (ns *NS) ChecksumOff(name string) error {
	return ns.switchOff(name, []string{"tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6", "tx-checksum-sctp"},
		"switch checksum offload of "+name+" off")
}

// switchOff switches off those of the features of a link that are on. doing begins its
// error.
func (ns *NS) switchOff(name string, features []string, doing string) error {
	return ns.withEthtool(func(e *ethtool.Ethtool) error {
		have, err := e.Features(name)
		if err != nil {
			return fmt.Errorf("read offloads of %s in namespace %s: %w", name, ns.name, err)
		}
		want := map[string]bool{}
		for _, f := range features {
			if have[f] {
				want[f] = false
			}
		}
		if len(want) == 0 {
			return nil
		}
		if err := e.Change(name, want); err != nil {
			return fmt.Errorf("%s in namespace %s: %w", doing, ns.name, err)
		}
		return nil
	})
}

// Offloads reads which of a link's segmentation offloads and checksum offload
// are on: "tso", "gso", "gro", "tx-checksum".
func (ns *NS) Offloads(name string) (map[string]bool, error) {
	out := map[string]bool{}
	err := ns.withEthtool(func(e *ethtool.Ethtool) error {
		have, err := e.Features(name)
		if err != nil {
			return fmt.Errorf("read offloads of %s in namespace %s: %w", name, ns.name, err)
		}
		out = inForce(have)
		return nil
	})
	return out, err
}

// HereOffloads reads those of a device of the namespace that this process is in.
func HereOffloads(name string) (map[string]bool, error) {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("open ethtool: %w", err)
	}
	defer e.Close()
	have, err := e.Features(name)
	if err != nil {
		return nil, fmt.Errorf("read offloads of %s: %w", name, err)
	}
	return inForce(have), nil
}

// inForce picks those that decide what a packet costs. Devices of hardware may offer
// the checksums of each family alone.
func inForce(have map[string]bool) map[string]bool {
	return map[string]bool{
		"tso": have["tx-tcp-segmentation"], "gso": have["tx-generic-segmentation"], "gro": have["rx-gro"],
		"tx-checksum": have["tx-checksum-ip-generic"] || have["tx-checksum-ipv4"],
	}
}

func (ns *NS) withEthtool(fn func(*ethtool.Ethtool) error) error {
	return ns.Do(func() error {
		e, err := ethtool.NewEthtool()
		if err != nil {
			return fmt.Errorf("open ethtool in namespace %s: %w", ns.name, err)
		}
		defer e.Close()
		return fn(e)
	})
}
