//go:build !windows

package udp

import "tare/internal/traffic/socket"

// portable returns the implementation with package net.
func portable() socket.UDP { return socket.Portable{} }
