package socket

import (
	"encoding/binary"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// sioTCPInfo is SIO_TCP_INFO (mstcpip.h), since Windows 10 1703. Its input is the version of the
// structure that it returns.
const (
	sioTCPInfo  = 0xd8000027
	tcpInfoSize = 136 // TCP_INFO_v1, since Windows 10 1709
)

// Offsets in TCP_INFO_v0 and v1.
const (
	infoMSS         = 4
	infoRTT         = 20 // us
	infoBytesOut    = 48
	infoBytesIn     = 56
	infoRetransmits = 68 // bytes
	infoV0          = 88 // size of version 0
	infoTimeWindow  = 92 // ms, limited by the receiver's window
	infoTimeNetwork = 108
)

// Info returns what the system reports about the connection. The granted buffers are known even if
// it reports nothing else.
func (s *winStream) Info() TCPInfo {
	info := TCPInfo{}
	var b [tcpInfoSize]byte
	for version := uint32(1); ; version-- {
		var n uint32
		err := windows.WSAIoctl(s.h, sioTCPInfo, (*byte)(unsafe.Pointer(&version)), 4, &b[0], uint32(len(b)), &n, nil, 0)
		if err == nil {
			info = parseTCPInfo(b[:min(n, uint32(len(b)))])
		}
		if err == nil || version == 0 {
			break
		}
	}
	info.SendBuffer = socketOption(s.h, windows.SOL_SOCKET, windows.SO_SNDBUF)
	info.ReceiveBuffer = socketOption(s.h, windows.SOL_SOCKET, windows.SO_RCVBUF)
	return info
}

// parseTCPInfo reads TCP_INFO_v0 or v1. It leaves unknown what a shorter structure lacks. The system
// counts retransmitted bytes, not segments: their number is the least that these bytes need.
func parseTCPInfo(b []byte) TCPInfo {
	if len(b) < infoV0 {
		return TCPInfo{}
	}
	le := binary.LittleEndian
	info := TCPInfo{
		Known: true, MSS: int(le.Uint32(b[infoMSS:])), RTT: float64(le.Uint32(b[infoRTT:])) / 1e6,
		Sent: le.Uint64(b[infoBytesOut:]), Resent: uint64(le.Uint32(b[infoRetransmits:])), Received: le.Uint64(b[infoBytesIn:]),
	}
	if mss := uint64(info.MSS); mss > 0 {
		info.Retransmits = int64((info.Resent + mss - 1) / mss)
	} else if info.Resent > 0 {
		info.Known = false
	}
	if len(b) < tcpInfoSize {
		return info
	}
	ms := func(at int) time.Duration { return time.Duration(le.Uint32(b[at:])) * time.Millisecond }
	// Of a connection limited by its sender (RFC 4898) the system does not tell whether buffer or data
	// is missing. Neither is counted as busy.
	window := ms(infoTimeWindow)
	info.Times = Chronograph{Known: true, Busy: window + ms(infoTimeNetwork), ReceiveWindow: window}
	return info
}

// Unacknowledged is unknown: the system reports what is in flight, but not what is still unsent.
func (s *winStream) Unacknowledged() (n int, known bool) { return 0, false }
