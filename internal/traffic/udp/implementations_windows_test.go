package udp

import "tare/internal/traffic/socket"

// portable returns the one implementation of this system.
func portable() socket.UDP { return socket.FastestUDP() }
