package agent

import (
	"encoding/binary"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
)

// readLinks reads the network devices of this namespace. It uses netlink because /sys in a
// container may show those of another namespace.
func readLinks() ([]wire.Link, error) {
	dump, err := syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("read devices: %w", err)
	}
	messages, err := syscall.ParseNetlinkMessage(dump)
	if err != nil {
		return nil, fmt.Errorf("read devices: %w", err)
	}
	var out []wire.Link
	for _, m := range messages {
		if m.Header.Type != unix.RTM_NEWLINK || len(m.Data) < unix.SizeofIfInfomsg {
			continue
		}
		attrs, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			return nil, fmt.Errorf("read devices: %w", err)
		}
		flags := binary.NativeEndian.Uint32(m.Data[8:])
		l := wire.Link{
			Index: int(int32(binary.NativeEndian.Uint32(m.Data[4:]))), //nolint:gosec // an int in the kernel too
			Up:    flags&unix.IFF_UP != 0, Loopback: flags&unix.IFF_LOOPBACK != 0,
		}
		for _, a := range attrs {
			attribute(&l, a.Attr.Type, a.Value)
		}
		out = append(out, l)
	}
	return out, nil
}

// attribute stores one attribute of a device. rtnl_link_stats64 starts with packets received,
// packets sent, bytes received and bytes sent (linux/if_link.h).
func attribute(l *wire.Link, kind uint16, v []byte) {
	number := func() int {
		if len(v) < 4 {
			return 0
		}
		return int(binary.NativeEndian.Uint32(v))
	}
	switch kind {
	case unix.IFLA_IFNAME:
		l.Name = strings.TrimRight(string(v), "\x00")
	case unix.IFLA_LINK:
		l.Peer = number()
	case unix.IFLA_MASTER:
		l.Master = number()
	case unix.IFLA_MTU:
		l.MTU = number()
	case unix.IFLA_LINKINFO:
		l.Kind = kindIn(v)
	case unix.IFLA_CARRIER_CHANGES:
		if n := uint64(number()); len(v) >= 4 {
			l.CarrierChanges = &n
		}
	case unix.IFLA_STATS64:
		if len(v) >= 32 {
			at := func(i int) uint64 { return binary.NativeEndian.Uint64(v[8*i:]) }
			l.RxPackets, l.TxPackets, l.RxBytes, l.TxBytes = at(0), at(1), at(2), at(3)
		}
	}
}

// kindIn finds the kind of a device among its nested attributes. Each attribute is a length, a type
// and a value, padded to four bytes.
func kindIn(v []byte) string {
	for len(v) >= unix.SizeofRtAttr {
		size, kind := int(binary.NativeEndian.Uint16(v)), binary.NativeEndian.Uint16(v[2:])
		if size < unix.SizeofRtAttr || size > len(v) {
			return ""
		}
		if kind == unix.IFLA_INFO_KIND {
			return strings.TrimRight(string(v[unix.SizeofRtAttr:size]), "\x00")
		}
		v = v[min(len(v), (size+3)&^3):]
	}
	return ""
}
