//go:build !linux

package traffic

import (
	"net"
	"syscall"
)

// beforeHandshake has nothing that package net could set.
func beforeHandshake(tcpOptions) func(network, address string, c syscall.RawConn) error { return nil }

// afterHandshake sets the buffers. Congestion control is the system's, and the
// report leaves it unknown.
func afterHandshake(c *net.TCPConn, o tcpOptions) error {
	if o.SendBuffer >= 0 {
		if err := c.SetWriteBuffer(o.SendBuffer); err != nil {
			return err
		}
	}
	if o.ReceiveBuffer >= 0 {
		return c.SetReadBuffer(o.ReceiveBuffer)
	}
	return nil
}

// info is unknown: package net does not tell.
func (s *portableStream) info() tcpInfo { return tcpInfo{} }

func (s *portableStream) unacknowledged() (n int, known bool) { return 0, false }
