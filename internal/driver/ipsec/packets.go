//go:build linux

package ipsec

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// maxPacket is the size of the largest packet of charon's command protocol, in bytes
// (VICI_MESSAGE_SIZE_MAX of strongSwan).
const maxPacket = 512 << 10

// packets is a connection to charon that refuses larger packets: the client allocates what the
// first 4 bytes of a packet announce.
type packets struct {
	net.Conn
	header []byte // of the packet, as far as it is not read
	left   uint32 // bytes of the packet that follow
}

func (p *packets) Read(b []byte) (int, error) {
	if p.left == 0 && len(p.header) == 0 {
		header := make([]byte, 4)
		if _, err := io.ReadFull(p.Conn, header); err != nil {
			return 0, err
		}
		p.header, p.left = header, binary.BigEndian.Uint32(header)
		if p.left > maxPacket {
			return 0, fmt.Errorf("charon sends a packet of %d bytes; at most %d are allowed", p.left, maxPacket)
		}
	}
	if len(p.header) > 0 {
		n := copy(b, p.header)
		p.header = p.header[n:]
		return n, nil
	}
	n, err := p.Conn.Read(b[:min(len(b), int(p.left))])
	p.left -= uint32(n)
	return n, err
}
