package socket

import "encoding/binary"

// Offsets in tcp_connection_info of macOS (netinet/tcp.h).
const (
	macMSS         = 16
	macRTT         = 44 // smoothed, ms
	macBytesOut    = 64
	macResent      = 72
	macBytesIn     = 88
	macRetransmits = 104 // segments
	macInfoSize    = 112
)

// parseMacInfo reads tcp_connection_info; a shorter structure is unknown. It is not documented whether
// the bytes sent contain those sent again: the sum of both is the most that was sent.
func parseMacInfo(b []byte) TCPInfo {
	if len(b) < macInfoSize {
		return TCPInfo{}
	}
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	return TCPInfo{
		Known: true, MSS: int(binary.NativeEndian.Uint32(b[macMSS:])), RTT: float64(binary.NativeEndian.Uint32(b[macRTT:])) / 1e3,
		Sent: u64(macBytesOut) + u64(macResent), Resent: u64(macResent), Received: u64(macBytesIn),
		Retransmits: int64(min(u64(macRetransmits), 1<<62)), //nolint:gosec // bounded
	}
}
