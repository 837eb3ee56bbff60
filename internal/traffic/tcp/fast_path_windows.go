package tcp

import "tare/internal/traffic/socket"

// fastest has the portable loops over sockets of its own. Each of their goroutines occupies a thread
// while it waits in the kernel.
func fastest() path {
	p := portablePath()
	p.name, p.net, p.runCRR = "fast", socket.Winsock{}, runCRRPortable(socket.Winsock{})
	return p
}
