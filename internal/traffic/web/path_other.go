//go:build !linux && !windows

package web

import "tare/internal/traffic/socket"

func fastest() path { return portablePath("portable", socket.Portable{}) }
