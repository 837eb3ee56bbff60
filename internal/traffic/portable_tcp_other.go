//go:build !linux

package traffic

import (
	"net"
	"syscall"
)

// beforeHandshake has nothing that package net could set.
func beforeHandshake(Params) func(network, address string, c syscall.RawConn) error { return nil }

// afterHandshake sets the buffers. Congestion control is the system's, and the
// report leaves it unknown.
func afterHandshake(c *net.TCPConn, p Params) error {
	if p.SendBuffer >= 0 {
		if err := c.SetWriteBuffer(p.SendBuffer); err != nil {
			return err
		}
	}
	if p.ReceiveBuffer >= 0 {
		return c.SetReadBuffer(p.ReceiveBuffer)
	}
	return nil
}
