//go:build !linux

package socket

// FastestUDP is the UDP of this system that costs least.
func FastestUDP() UDP { return Portable{} }
