package web

import "tare/internal/traffic/socket"

// fastest occupies a thread for each goroutine that waits in the kernel.
func fastest() path { return portablePath("fast", socket.Winsock{}) }
