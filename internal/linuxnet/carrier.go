//go:build linux

package linuxnet

import (
	"encoding/binary"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// CarrierChanges counts, by the names of the namespace's devices, how often each
// has lost or found its carrier since it was made: a cable pulled, the other end of
// a veth pair taken down. A device of which the kernel keeps no count (before
// Linux 3.15) is not in it. The netlink library does not read this attribute.
func (ns *NS) CarrierChanges() (map[string]uint64, error) {
	out := map[string]uint64{}
	err := ns.Do(func() error {
		dump, err := syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC)
		if err != nil {
			return err
		}
		messages, err := syscall.ParseNetlinkMessage(dump)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.Header.Type != unix.RTM_NEWLINK {
				continue
			}
			attrs, err := syscall.ParseNetlinkRouteAttr(&m)
			if err != nil {
				return err
			}
			var name string
			changes := -1
			for _, a := range attrs {
				switch {
				case a.Attr.Type == unix.IFLA_IFNAME:
					name = strings.TrimRight(string(a.Value), "\x00")
				case a.Attr.Type == unix.IFLA_CARRIER_CHANGES && len(a.Value) >= 4:
					changes = int(binary.NativeEndian.Uint32(a.Value))
				}
			}
			if changes >= 0 {
				out[name] = uint64(changes)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read carrier changes in namespace %s: %w", ns.name, err)
	}
	return out, nil
}
