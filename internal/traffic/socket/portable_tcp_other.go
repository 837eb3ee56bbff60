//go:build !linux && !windows

package socket

import (
	"net"
	"syscall"
)

// beforeHandshake does nothing: package net offers no options to set.
func beforeHandshake(TCPOptions) func(network, address string, c syscall.RawConn) error { return nil }

// afterHandshake sets the buffers. The system chooses the congestion control, and the report leaves
// it unknown.
func afterHandshake(c *net.TCPConn, o TCPOptions) error {
	if n := o.SendBuffer.Socket(); n >= 0 {
		if err := c.SetWriteBuffer(n); err != nil {
			return err
		}
	}
	if n := o.ReceiveBuffer.Socket(); n >= 0 {
		return c.SetReadBuffer(n)
	}
	return nil
}
