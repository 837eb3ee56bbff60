package netstack

import (
	"encoding/binary"
	"fmt"
	"testing"

	"tare/internal/testkit/must"
)

// message makes a message of macOS about a device.
func message(name string, index uint16, flags uint32, counters map[int]uint64) []byte {
	b := make([]byte, ifSize+20)
	binary.NativeEndian.PutUint16(b, uint16(len(b)))
	b[2], b[3] = ifVersion, ifInfo2
	binary.NativeEndian.PutUint32(b[ifAddresses:], hasName)
	binary.NativeEndian.PutUint32(b[ifFlags:], flags)
	binary.NativeEndian.PutUint16(b[ifIndex:], index)
	binary.NativeEndian.PutUint32(b[ifMTU:], 16384)
	for at, n := range counters {
		binary.NativeEndian.PutUint64(b[at:], n)
	}
	link := b[ifSize:]
	link[0], link[1], link[linkNameLen] = 20, linkFamily, byte(len(name))
	copy(link[linkHead:], name)
	return b
}

func TestParseInterfaces(t *testing.T) {
	lo := message("lo0", 1, 0x8049, map[int]uint64{ifRxPackets: 7, ifRxBytes: 1 << 40, ifTxPackets: 8, ifTxBytes: 1<<40 + 1, ifRxDrops: 3})
	address := make([]byte, 120) // RTM_NEWADDR: skipped
	binary.NativeEndian.PutUint16(address, uint16(len(address)))
	address[2], address[3] = ifVersion, 0xc
	en := message("en0", 4, 0x0, map[int]uint64{ifRxErrors: 1, ifTxErrors: 2})
	got := must.Get(ParseInterfaces(append(append(append([]byte{}, lo...), address...), en...)))(t)
	want := []Interface{
		{Name: "lo0", Index: 1, MTU: 16384, Up: true, Loopback: true, RxPackets: 7, RxBytes: 1 << 40, TxPackets: 8, TxBytes: 1<<40 + 1, RxDrops: 3},
		{Name: "en0", Index: 4, MTU: 16384, RxErrors: 1, TxErrors: 2},
	}
	must.Equal(t, want, got)
	for n := 1; n < len(lo); n++ {
		must.FailFor(t, fmt.Sprintf("%d bytes of a message", n), must.Err(ParseInterfaces(lo[:n])))
	}
	long := message("lo0", 1, 0, nil)
	long[ifSize+linkNameLen] = 200
	nameless := message("", 1, 0, nil)
	short := make([]byte, 100)
	binary.NativeEndian.PutUint16(short, 100)
	short[2], short[3] = ifVersion, ifInfo2
	for name, b := range map[string][]byte{"long name": long, "no name": nameless, "short": short, "no length": make([]byte, 8)} {
		must.FailFor(t, name, must.Err(ParseInterfaces(b)))
	}
}

func FuzzInterfaces(f *testing.F) {
	f.Add(message("lo0", 1, 0x8049, map[int]uint64{ifRxBytes: 1 << 60}))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _ := ParseInterfaces(b)
		must.True(t, len(got)*4 <= len(b), "%d devices in %d bytes", len(got), len(b))
		for _, d := range got {
			must.True(t, d.Name != "" && len(d.Name) <= 255 && d.Index >= 0 && d.MTU >= 0, "%+v", d)
		}
	})
}
