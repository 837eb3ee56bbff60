//go:build linux

package linuxnet

import (
	"fmt"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"tare/internal/linuxnet/here"
)

// Limit limits what a link sends to rate bit/s with a token bucket. [Bucket] gives the
// sizes of the bucket and of its queue, so that TCP sees a short router queue and no loss
// caused by the granularity of the bucket.
func (ns *Tuning) Limit(name string, rate uint64, mtu int) error {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return err
	}
	bytes := rate / 8
	burst, queue := Bucket(rate, mtu)
	q := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       bytes,
		Limit:      uint32(min(queue, 1<<31)),
		// tc(8) expresses the bucket's size as the time it takes to send it.
		Buffer: netlink.Xmittime(bytes, uint32(burst)),
	}
	if err := ns.handle.QdiscReplace(q); err != nil {
		return fmt.Errorf("limit %s to %d bit/s in namespace %s (needs the tbf queueing discipline): %w", name, rate, ns.name, err)
	}
	return nil
}

// offloads are the features that Segmentation changes: those that let a packet larger than
// the MTU cross a device. Checksum offloads are not changed: without them the kernel would
// compute checksums that no wire here can invalidate.
func offloads() []string {
	return []string{
		"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
		"tx-generic-segmentation", "tx-udp-segmentation", "tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation",
		"rx-gro",
	}
}

// Segmentation disables a link's segmentation offloads and GRO, or leaves the kernel's
// defaults, which for the devices of a lab is on. Features that the device lacks or cannot
// change are skipped; Describe reads back the result.
func (ns *Tuning) Segmentation(name string, on bool) error {
	if on {
		return nil
	}
	return ns.switchOff(name, offloads(), "switch offloads of "+name)
}

// ChecksumOff makes the kernel complete checksums before packets leave a link, which also
// segments large packets: for devices whose frames a process reads.
func (ns *Tuning) ChecksumOff(name string) error {
	return ns.switchOff(name, []string{"tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6", "tx-checksum-sctp"},
		"switch checksum offload of "+name+" off")
}

// switchOff disables those of the features of a link that are enabled. doing begins its
// error message.
func (ns *Tuning) switchOff(name string, features []string, doing string) error {
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

// Offloads reads which segmentation offloads and checksum offload of a link are enabled:
// "tso", "gso", "gro", "tx-checksum".
func (ns *Tuning) Offloads(name string) (map[string]bool, error) {
	var out map[string]bool
	err := ns.whole().Do(func() (err error) {
		out, err = here.Offloads(name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("in namespace %s: %w", ns.name, err)
	}
	return out, nil
}

func (ns *Tuning) withEthtool(fn func(*ethtool.Ethtool) error) error {
	return ns.whole().Do(func() error {
		e, err := ethtool.NewEthtool()
		if err != nil {
			return fmt.Errorf("open ethtool in namespace %s: %w", ns.name, err)
		}
		defer e.Close()
		return fn(e)
	})
}
