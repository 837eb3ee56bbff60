//go:build !linux && !windows

package tcp

import "tare/internal/traffic/socket"

func fastest() path { return portablePath("portable", socket.Portable{}) }
