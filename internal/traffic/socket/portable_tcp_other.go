//go:build !linux

package socket

import (
	"net"
	"syscall"
)

// beforeHandshake has nothing that package net could set.
func beforeHandshake(TCPOptions) func(network, address string, c syscall.RawConn) error { return nil }

// afterHandshake sets the buffers. Congestion control is the system's, and the
// report leaves it unknown.
func afterHandshake(c *net.TCPConn, o TCPOptions) error {
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

// Info is unknown: package net does not tell.
func (s *portableStream) Info() TCPInfo { return TCPInfo{} }

func (s *portableStream) Unacknowledged() (n int, known bool) { return 0, false }
