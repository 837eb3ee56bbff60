//go:build !linux && !windows

package socket

// FastestUDP returns the UDP implementation with the lowest cost on this system.
func FastestUDP() UDP { return Portable{} }
