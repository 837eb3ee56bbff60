package netstack

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Interface is a network device of macOS with its counters.
type Interface struct {
	Name               string
	Index, MTU         int
	Up, Loopback       bool
	RxPackets, RxBytes uint64
	TxPackets, TxBytes uint64
	RxErrors, RxDrops  uint64 // drops: of the input queue
	TxErrors           uint64
}

// Offsets in if_msghdr2, of macOS's <net/if.h>, with its if_data64, which is packed to four bytes.
const (
	ifSize      = 160 // of the header; socket addresses follow
	ifAddresses = 4   // bits of those that follow
	ifFlags     = 8
	ifIndex     = 12
	ifMTU       = 40
	ifRxPackets = 56
	ifRxErrors  = 64
	ifTxPackets = 72
	ifTxErrors  = 80
	ifRxBytes   = 96
	ifTxBytes   = 104
	ifRxDrops   = 128

	ifInfo2     = 0x12 // RTM_IFINFO2
	ifVersion   = 5    // RTM_VERSION
	flagUp      = 0x1
	flagLoop    = 0x8
	hasName     = 0x10 // RTA_IFP: the only address of such a message
	linkHead    = 8    // of sockaddr_dl, before the name
	linkFamily  = 18   // AF_LINK
	linkNameLen = 5
)

// maxInterfaces bounds what is read.
const maxInterfaces = 4096

// ParseInterfaces reads the messages of NET_RT_IFLIST2: each begins with its length, a version and a
// type. Messages of other types, such as addresses, are skipped.
func ParseInterfaces(b []byte) ([]Interface, error) {
	var out []Interface
	for len(b) > 0 {
		if len(b) < 4 {
			return out, errors.New("the list of devices ends within a message")
		}
		size := int(binary.NativeEndian.Uint16(b))
		if size < 4 || size > len(b) {
			return out, fmt.Errorf("the list of devices has a message of %d bytes in %d", size, len(b))
		}
		if b[2] == ifVersion && b[3] == ifInfo2 {
			d, err := parseInterface(b[:size])
			if err != nil {
				return out, err
			}
			if out = append(out, d); len(out) > maxInterfaces {
				return nil, fmt.Errorf("more than %d devices", maxInterfaces)
			}
		}
		b = b[size:]
	}
	return out, nil
}

func parseInterface(b []byte) (Interface, error) {
	if len(b) < ifSize {
		return Interface{}, fmt.Errorf("the message about a device has %d bytes, at least %d are needed", len(b), ifSize)
	}
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	flags := u32(ifFlags)
	d := Interface{
		Index: int(binary.NativeEndian.Uint16(b[ifIndex:])), MTU: int(u32(ifMTU)), Up: flags&flagUp != 0, Loopback: flags&flagLoop != 0,
		RxPackets: u64(ifRxPackets), RxErrors: u64(ifRxErrors), TxPackets: u64(ifTxPackets), TxErrors: u64(ifTxErrors),
		RxBytes: u64(ifRxBytes), TxBytes: u64(ifTxBytes), RxDrops: u64(ifRxDrops),
	}
	link := b[ifSize:]
	if u32(ifAddresses)&hasName == 0 || len(link) < linkHead || link[1] != linkFamily {
		return d, fmt.Errorf("the message about device %d has no name", d.Index)
	}
	name := int(link[linkNameLen])
	if name == 0 || linkHead+name > len(link) {
		return d, fmt.Errorf("the name of device %d has %d bytes in %d", d.Index, name, len(link)-linkHead)
	}
	d.Name = string(link[linkHead : linkHead+name])
	return d, nil
}
