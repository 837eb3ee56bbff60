//go:build !windows

package web

import "tare/internal/traffic/socket"

// implementations lists those that are built for this system, the fastest first.
func implementations() []path {
	return []path{fastest(), portablePath("portable", socket.Portable{})}
}
