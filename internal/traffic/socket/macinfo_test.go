package socket

import (
	"encoding/binary"
	"math"
	"testing"

	"tare/internal/testkit/must"
)

func TestParseMacInfo(t *testing.T) {
	b := make([]byte, macInfoSize)
	binary.NativeEndian.PutUint32(b[macMSS:], 1448)
	binary.NativeEndian.PutUint32(b[macRTT:], 3)
	for at, n := range map[int]uint64{macBytesOut: 1 << 40, macResent: 2896, macBytesIn: 77, macRetransmits: 2} {
		binary.NativeEndian.PutUint64(b[at:], n)
	}
	want := TCPInfo{Known: true, MSS: 1448, RTT: 0.003, Sent: 1<<40 + 2896, Resent: 2896, Received: 77, Retransmits: 2}
	must.Equal(t, want, parseMacInfo(b))
	for n := range macInfoSize {
		got := parseMacInfo(b[:n])
		must.True(t, got == (TCPInfo{}), "%d bytes: %+v", n, got)
	}
	for i := range b {
		b[i] = 0xff
	}
	got := parseMacInfo(b)
	must.True(t, got.Retransmits >= 0 && !math.IsNaN(got.RTT), "%+v", got)
}
